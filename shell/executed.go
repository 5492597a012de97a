package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
	"sandboxd/shell/danger"
)

// scripts maps a command to the files that it executes by convention, without naming them.
var scripts = map[string][]string{
	"make": {"GNUmakefile", "makefile", "Makefile"}, "gmake": {"GNUmakefile", "makefile", "Makefile"},
	"npm": {"package.json"}, "yarn": {"package.json"}, "pnpm": {"package.json"}, "bun": {"package.json"},
	"deno": {"deno.json", "deno.jsonc"},
	"rake": {"Rakefile"}, "just": {"justfile", "Justfile"}, "task": {"Taskfile.yml"}, "tox": {"tox.ini"},
	"nox": {"noxfile.py"}, "invoke": {"tasks.py"},
	"pytest": {"conftest.py"}, "ninja": {"build.ninja"}, "gulp": {"gulpfile.js"}, "grunt": {"Gruntfile.js"},
}

// runners lists commands that execute files named in any of their arguments.
var runners = []string{
	"make", "gmake", "ninja", "cmake", "just", "task", "rake", "npm", "yarn", "pnpm", "npx", "pnpx", "bun", "bunx",
	"deno", "tsx", "ts-node", "zx", "gulp", "grunt", "jest", "vitest", "mocha",
	"uv", "poetry", "pipenv", "pdm", "hatch", "pytest", "tox", "nox", "invoke", "go", "cargo", "awk", "gawk", "mawk",
	"nawk", "sed", "jq", "yq", "ed", "ex", "vi", "vim", "nvim", "emacs", "expect", "gdb",
	"sqlite3", "psql", "mysql", "julia", "elixir", "runghc", "swift", "java", "groovy", "scala", "dotnet",
	"ansible-playbook", "terraform", "tofu", "bc", "dc", "m4", "gnuplot", "octave",
}

// maxExecuted is the maximum number of words of a command that are checked as files.
const maxExecuted = 50

// executedFiles returns the hashes of the project files that the line executes or passes to an
// interpreter. If they are not all known, an approval is valid once.
func (j *judging) executedFiles() map[string]any {
	if j.tooMany { // a line with too many commands always asks
		j.verdict.Unseen = true
		return nil
	}
	out := map[string]any{}
	for _, c := range j.script.Calls {
		names, known := executedBy(c)
		if !known && j.calls[c].decision != Auto {
			j.verdict.Unseen = true
		}
		for _, name := range names {
			paths, _ := c.Dirs.Resolve(name)
			for _, abs := range paths {
				j.addHash(out, path.Clean(abs))
			}
		}
		if state := j.calls[c]; state.decision != Auto && !state.transparent && len(c.Args) > 0 && state.use == nil {
			for _, abs := range j.configFiles(c, names) {
				j.addHash(out, abs)
			}
		}
	}
	return out
}

// addHash adds the hash of a file of the project to out, if the file exists.
func (j *judging) addHash(out map[string]any, abs string) {
	if !abspath.Contains(j.cmd.project(), abs) {
		return
	}
	fact, ok := j.facts.Contents[abs]
	switch {
	case !ok:
		j.needForPayload(FactContent, abs)
	case fact.Err != "":
		out[abs] = "unreadable: " + fact.Err
		j.verdict.Unseen = true
	case fact.Exists:
		out[abs] = fact.Hash
	}
}

func appendQuery(list []FactQuery, q FactQuery) []FactQuery {
	if slices.Contains(list, q) {
		return list
	}
	return append(list, q)
}

// executedBy returns the names of the files that a call may execute. They need not exist. known
// is false if the call executes code that its words do not name.
func executedBy(c *analysis.Call) (files []string, known bool) {
	name := c.Name()
	if name == "" {
		return nil, len(c.Args) == 0
	}
	if strings.Contains(name, "/") {
		files = append(files, name)
	}
	name = path.Base(name)
	files = append(files, scripts[name]...)
	if slices.Contains(runners, name) {
		named := namedFiles(c.Args[1:])
		for _, dir := range named { // make -C DIR, npm --prefix DIR
			for _, script := range scripts[name] {
				files = append(files, path.Join(dir, script))
			}
		}
		return append(files, named...), len(c.Args) <= maxExecuted
	}
	given, known := danger.Scripts(c)
	return append(files, given...), known
}

// namedFiles returns the words, and the values joined to options, that may be files.
func namedFiles(words []analysis.Word) []string {
	var out []string
	for _, w := range words[:min(len(words), maxExecuted)] {
		t := w.Text
		if !w.Known() || strings.ContainsAny(t, "\n\x00") || len(t) > 1024 {
			continue
		}
		if strings.HasPrefix(t, "-") {
			name, value, joined := strings.Cut(t, "=")
			switch {
			case joined:
				t = value
			case len(name) > 2 && name[1] != '-':
				t = name[2:]
			default:
				continue
			}
		}
		if t != "" && t != "." && t != ".." {
			out = append(out, t)
		}
	}
	return out
}
