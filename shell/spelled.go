package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
)

// module matches the options of python up to that with the name of a module: -m, -mNAME, -Im.
var module = regexp.MustCompile(`^-[bBdEiIOPqsSuvx]*m`)

// unversioned returns a program's name without the version that runners of packages take: wrangler for wrangler@3.
func unversioned(name string) string {
	short, _, _ := strings.Cut(name, "@")
	return orElse(short, name)
}

// packages are those whose program has another name.
var packages = map[string]string{
	"firebase-tools": "firebase", "netlify-cli": "netlify", "aws-cdk": "cdk", "@changesets/cli": "changeset",
	"@railway/cli": "railway", "@expo/eas-cli": "eas", "eas-cli": "eas",
}

// packageName returns the program of a package: wrangler for wrangler@3, changeset for @changesets/cli.
func packageName(word string) string {
	at := strings.LastIndexByte(word, '@')
	if at > 0 {
		word = word[:at]
	}
	return orElse(packages[word], path.Base(word))
}

// packageRunners lists the commands that start a program of a package by its name, with the sub-commands for that.
var packageRunners = map[string][]string{
	"npx": nil, "bunx": nil, "pnpx": nil, "uvx": nil, "npm": {"exec", "x"},
	"pnpm": {"dlx", "exec"}, "yarn": {"dlx", "exec"},
	"bun": {"x"}, "pipx": {"run"}, "uv": {"tool", "run"},
}

// started returns the index of the word that names the program which a runner of packages starts, or 0.
func started(name string, words []analysis.Word) int {
	subs, known := packageRunners[name]
	if !known {
		return 0
	}
	found := len(subs) == 0
	for i := 1; i < len(words); i++ {
		switch w := words[i].Text; {
		case w == "--":
		case slices.Contains([]string{"-p", "--package", "--from", "--with", "--python", "-c", "--call", "-C"}, w):
			i++
		case strings.HasPrefix(w, "-"):
		case slices.Contains(subs, w):
			found = true
		case found:
			return i
		default:
			return 0
		}
	}
	return 0
}

// maxSpelled bounds the forms of a call that are looked at.
const maxSpelled = 64

// spelled returns the words of a call in all forms that the values of the line's own variables give it.
func spelled(c *analysis.Call) [][]analysis.Word {
	forms := [][]analysis.Word{nil}
	for _, w := range c.Args {
		alternatives := alternativesOf(w)
		if len(alternatives)*len(forms) > maxSpelled {
			return [][]analysis.Word{c.Args}
		}
		var next [][]analysis.Word
		for i, words := range alternatives {
			for _, form := range forms {
				if i < len(alternatives)-1 {
					form = slices.Clone(form)
				}
				next = append(next, append(form, words...))
			}
		}
		forms = next
	}
	return slices.DeleteFunc(forms, func(words []analysis.Word) bool { return len(words) == 0 })
}

// alternativesOf returns the words that a word may become: itself, or the values of variables in it, split where
// bash splits them.
func alternativesOf(w analysis.Word) (list [][]analysis.Word) {
	parts := w.Parts()
	texts, ok := []string(nil), false
	if w.Kind == analysis.Derived && !slices.ContainsFunc(parts, func(p analysis.Part) bool { return len(p.Calls) > 0 }) {
		texts, ok = values(w, 0)
	}
	if !ok {
		return [][]analysis.Word{{w}}
	}
	split := slices.ContainsFunc(parts, func(p analysis.Part) bool { return p.Var != nil && !p.Quoted })
	for _, text := range texts {
		fields := []string{text}
		if split {
			fields = strings.Fields(text)
		}
		words := make([]analysis.Word, len(fields))
		for i, f := range fields {
			words[i] = analysis.Word{Kind: analysis.Literal, Text: f, Source: f}
		}
		list = append(list, words)
	}
	return list
}
