package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const maxWalk = 20000 // directory entries that are read for attribute files

// Driver is one section of the configuration that attributes select, with its programs (gitattributes(5)).
type Driver struct {
	Name     string // for example "filter.lfs"
	Settings []Setting
	// Selected drivers are named by an attribute file.
	Selected bool
}

// Drivers returns the attribute drivers with a program, sorted by name.
func (r Reader) Drivers(repo Repository, settings []Setting) ([]Driver, error) {
	var out []Driver
	for _, s := range settings {
		if s.Value == "" || !driverKey(s) {
			continue
		}
		name := s.Section + "." + s.Sub
		i := slices.IndexFunc(out, func(d Driver) bool { return d.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, Driver{Name: name})
		}
		out[i].Settings = append(out[i].Settings, s)
	}
	if len(out) == 0 {
		return nil, nil
	}
	selected, err := r.selected(repo, settings)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Selected = selected[out[i].Name]
	}
	slices.SortFunc(out, func(a, b Driver) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// driverKey reports whether a setting names the program of an attribute driver.
func driverKey(s Setting) bool {
	switch s.Section {
	case "filter":
		return s.HasSub && (s.Name == "clean" || s.Name == "smudge" || s.Name == "process")
	case "diff":
		return s.HasSub && (s.Name == "textconv" || s.Name == "command")
	}
	return false
}

// selected reads every attribute file and returns the drivers that are named.
func (r Reader) selected(repo Repository, settings []Setting) (map[string]bool, error) {
	out := map[string]bool{}
	files := []string{"/etc/gitattributes", path.Join(repo.Common, "info/attributes")}
	if r.Home != "" {
		files = append(files, path.Join(r.Home, ".config/git/attributes"))
	}
	for _, s := range settings {
		if s.Section == "core" && s.Name == "attributesfile" && s.Value != "" {
			to, err := includePath(s.Value, s.File, r.Home)
			if err != nil {
				return nil, err
			}
			files = append(files, to)
		}
	}
	if repo.Worktree != "" {
		more, err := r.attributeFiles(repo.Worktree)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, f := range files {
		if err := attributes(r.Host, f, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// attributes notes the drivers that an attribute file names.
func attributes(h Host, name string, into map[string]bool) error {
	text, err := h.ReadFile(name, maxConfig)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		for _, attr := range []string{"filter", "diff", "merge"} {
			if value, ok := strings.CutPrefix(word, attr+"="); ok {
				into[attr+"."+value] = true
			}
		}
	}
	return nil
}

// attributeFiles finds the .gitattributes files of a work tree.
func (r Reader) attributeFiles(root string) ([]string, error) {
	var out []string
	seen := 0
	dirs := []string{root}
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := r.Host.ReadDir(dir)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && dir != root {
				continue
			}
			return nil, fmt.Errorf("look for attributes in %q: %s", dir, reason(err))
		}
		if seen += len(entries); seen > maxWalk || r.over() {
			return nil, fmt.Errorf("look for attributes in %q: there are too many files", root)
		}
		for _, e := range entries {
			switch {
			case e.Name() == ".gitattributes":
				out = append(out, path.Join(dir, e.Name()))
			case e.IsDir() && e.Name() != ".git":
				dirs = append(dirs, path.Join(dir, e.Name()))
			}
		}
	}
	return out, nil
}
