package git

import (
	"fmt"
	"path"
	"strings"
)

const (
	maxConfig   = 1 << 20
	maxIncludes = 20
	maxSettings = 20000
)

// Reader reads the configuration and attributes in force in a repository.
type Reader struct {
	Host Host
	// Home is where the person's own configuration is; "" is none.
	Home string
	// Over reports whether the time for reading has passed; nil is never.
	Over func() bool
}

func (r Reader) over() bool { return r.Over != nil && r.Over() }

// systemConfig are the places of git's system-wide configuration.
var systemConfig = []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"}

// Config returns the settings in force in a repository, weakest first: the system's, the person's, and the
// repository's. The zero repository has none of its own.
func (r Reader) Config(repo Repository) ([]Setting, error) {
	files := systemConfig
	if r.Home != "" {
		files = append(files[:len(files):len(files)], path.Join(r.Home, ".config/git/config"), path.Join(r.Home,
			".gitconfig"))
	}
	var out []Setting
	for _, f := range files {
		if err := r.config(f, false, 0, &out); err != nil {
			return nil, err
		}
	}
	if repo.Dir == "" {
		return out, nil
	}
	files = []string{path.Join(repo.Common, "config"), path.Join(repo.Common, "config.worktree")}
	if repo.Dir != repo.Common {
		files = append(files, path.Join(repo.Dir, "config.worktree"))
	}
	for _, f := range files {
		if err := r.config(f, true, 0, &out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// config reads a configuration file and its includes, whatever their conditions. A file that does not exist is empty.
func (r Reader) config(name string, local bool, depth int, into *[]Setting) error {
	if depth > maxIncludes {
		return fmt.Errorf("read %q: too many includes", name)
	}
	if r.over() {
		return fmt.Errorf("read %q: there was no time to", name)
	}
	text, err := r.Host.ReadFile(name, maxConfig)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	settings, err := ParseConfig(text)
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	for _, s := range settings {
		s.File, s.Local = name, local
		*into = append(*into, s)
		if (s.Section == "include" || s.Section == "includeif") && s.Name == "path" && s.Value != "" {
			to, err := includePath(s.Value, name, r.Home)
			if err != nil {
				return err
			}
			if err := r.config(to, local, depth+1, into); err != nil {
				return err
			}
			if len(*into) > maxSettings {
				return fmt.Errorf("read %q: too many settings", name)
			}
		}
	}
	return nil
}

func includePath(value, from, home string) (string, error) {
	switch {
	case strings.HasPrefix(value, "~/"):
		if home == "" {
			return "", fmt.Errorf("include %q: the home directory is not known", value)
		}
		return path.Join(home, value[2:]), nil
	case strings.HasPrefix(value, "~"), strings.HasPrefix(value, "%("):
		return "", fmt.Errorf("include %q: where it leads is not known", value)
	case strings.HasPrefix(value, "/"):
		return value, nil
	}
	return path.Join(path.Dir(from), value), nil
}
