package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// shipped are the documents of a release beside the Markdown files of the top directory.
var shipped = []string{"LICENSE", "docs"}

var link = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)`)

// documents copies README.md and its like, LICENSE and docs/ from the source tree into
// dir, with the same names. A link to a file that is not among them becomes its text.
func documents(tree, dir string) error {
	files, err := filepath.Glob(filepath.Join(tree, "*.md"))
	if err != nil {
		return err
	}
	for _, name := range shipped {
		err := filepath.WalkDir(filepath.Join(tree, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !slices.Contains([]string{".py", ".sh"}, filepath.Ext(path)) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, from := range files {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if strings.HasSuffix(from, ".md") {
			b = link.ReplaceAllFunc(b, func(m []byte) []byte {
				part := link.FindSubmatch(m)
				target := string(part[3])
				if strings.Contains(target, ":") || inRelease(files, filepath.Join(filepath.Dir(from), target)) {
					return m
				}
				return part[2]
			})
		}
		rel, err := filepath.Rel(tree, from)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// inRelease reports whether path is one of the files, or a directory above one.
func inRelease(files []string, path string) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		f = filepath.Clean(f)
		return f == path || strings.HasPrefix(f, path+string(filepath.Separator))
	})
}
