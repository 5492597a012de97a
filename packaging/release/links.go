package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	span    = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	tag     = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	target  = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)
)

// passedOver are directories without documents of ours.
var passedOver = []string{".git", ".cache", "bin", "dist", "node_modules", "testdata"}

// links returns an error for each link of a Markdown file below dir that names no file below
// it, or no heading of that file. An address of another host is not asked.
func links(dir string) error {
	var all []error
	documents := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && slices.Contains(passedOver, d.Name()):
			return filepath.SkipDir
		case !d.Type().IsRegular() || filepath.Ext(path) != ".md":
			return nil
		}
		documents++
		text, err := prose(path)
		for _, to := range targets(text) {
			if broken := resolve(dir, path, to); broken != nil {
				all = append(all, fmt.Errorf("%s: link %q: %w", path, to, broken))
			}
		}
		return err
	})
	if documents == 0 {
		all = append(all, fmt.Errorf("%s: no documents", dir))
	}
	return errors.Join(append(all, err)...)
}

// prose is a document without its blocks of code.
func prose(path string) (string, error) {
	b, err := os.ReadFile(path)
	return fence.ReplaceAllString(string(b), ""), err
}

func targets(text string) []string {
	var out []string
	for _, re := range []*regexp.Regexp{target, tag} {
		for _, m := range re.FindAllStringSubmatch(span.ReplaceAllString(text, "`"), -1) {
			out = append(out, strings.Trim(m[1], "<>"))
		}
	}
	return out
}

// resolve returns why a link in the document does not lead anywhere below dir.
func resolve(dir, document, link string) error {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return nil
	}
	name, anchor, _ := strings.Cut(link, "#")
	path := document
	if name != "" {
		path = filepath.Join(filepath.Dir(document), name)
	}
	if below, err := filepath.Rel(dir, path); err != nil || !filepath.IsLocal(below) {
		return errors.New("outside the tree")
	}
	if _, err := os.Stat(path); err != nil || anchor == "" {
		return err
	}
	text, err := prose(path)
	if err != nil {
		return err
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		if slug(m[1]) == anchor {
			return nil
		}
	}
	return fmt.Errorf("no heading %q", anchor)
}

// slug is the anchor of a heading as forges make it: lower case, hyphens for spaces, and
// no punctuation.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
