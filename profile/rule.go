package profile

import (
	"fmt"
	"path"
	"strings"

	"sandboxd/profile/abspath"
)

// Rule says one thing about one path, or about every path of a name.
//
// Without a Name the rule speaks of Path and of everything below it. With a
// Name it speaks of every path strictly below Path whose last elements match
// Name, and of everything below those. Only Protect and Hide take a Name.
type Rule struct {
	Kind Kind
	// Access is the grant of Allow. For Private it narrows the private directory (zero: read, write
	// and exec). For Protect zero means the access of the rule around it, anything else exactly
	// that, without Write.
	Access Access
	// Path is absolute and clean; "/" is everything.
	Path string
	// Name is empty, or a relative slash path whose elements are patterns of
	// path.Match, for example ".git/hooks" or ".env*".
	Name string
	// Origin is where the rule comes from, for people ("built-in",
	// "operator /etc/sandboxd/config.toml:12"). It is no part of a profile's
	// identity.
	Origin string
}

// Target returns the path or "PATH/**/NAME", as a document writes it.
func (r Rule) Target() string {
	if r.Name == "" {
		return r.Path
	}
	return abspath.Join(r.Path, "**/"+r.Name)
}

// String returns for example "allow read+exec /usr".
func (r Rule) String() string {
	if r.Access == 0 {
		return r.Kind.String() + " " + r.Target()
	}
	return r.Kind.String() + " " + r.Access.String() + " " + r.Target()
}

// Validate returns the rule's fault.
func (r Rule) Validate() error {
	if err := validatePath(r.Path); err != nil {
		return err
	}
	if err := r.Access.validate(); err != nil {
		return err
	}
	switch {
	case r.Kind > Hide:
		return fmt.Errorf("unknown kind %d", r.Kind)
	case r.Name != "" && r.Kind < Protect:
		return fmt.Errorf("%s takes a path, not a name: only protect and hide match by name", r.Kind)
	case r.Name != "" && r.Access != 0:
		return fmt.Errorf("a rule by name takes no access")
	case r.Kind == Allow && r.Access == 0:
		return fmt.Errorf("allow without access: name read, write or exec, or use hide")
	case r.Kind == Protect && r.Access&Write != 0:
		return fmt.Errorf("protect with write contradicts itself")
	case r.Kind == Hide && r.Access != 0:
		return fmt.Errorf("hide takes no access")
	}
	if r.Name != "" {
		_, err := parseName(r.Name)
		return err
	}
	return nil
}

func validatePath(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return fmt.Errorf("path %q is not absolute", p)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("path %q holds a NUL", p)
	case path.Clean(p) != p:
		return fmt.Errorf("path %q is not clean: write %q", p, path.Clean(p))
	}
	return nil
}

// comparePaths orders a directory before its entries, and those before its later siblings.
func comparePaths(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		case a[i] < b[i]:
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}
