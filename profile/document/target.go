package document

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/profile"
)

// expand replaces a variable at the start of a path and cleans the path.
func (v Variables) expand(s string) (string, error) {
	out := s
	if s == "~" || strings.HasPrefix(s, "~/") {
		out = "${home}" + s[1:]
	}
	if strings.HasPrefix(out, "${") {
		name, rest, closed := strings.Cut(out[2:], "}")
		value, known := map[string]string{"project": v.Project, "home": v.Home, "tmp": v.Tmp}[name]
		switch {
		case !closed || !known:
			return "", fmt.Errorf("path %q: there are ${project}, ${home} and ${tmp}", s)
		case value == "":
			return "", fmt.Errorf("path %q: ${%s} has no value here", s, name)
		case rest != "" && rest[0] != '/':
			return "", fmt.Errorf("path %q: a / follows the variable", s)
		}
		out = value + rest
	}
	switch {
	case strings.Contains(out, "${"):
		return "", fmt.Errorf("path %q: a variable is allowed only at the start", s)
	case !strings.HasPrefix(out, "/"):
		return "", fmt.Errorf("path %q is not absolute: begin with /, ~/, ${project}, ${home} or ${tmp}", s)
	}
	for _, element := range strings.Split(out, "/") {
		switch {
		case element == "..":
			return "", fmt.Errorf("path %q: .. is not allowed in it", s)
		case strings.Contains(element, "**"):
			return "", fmt.Errorf("path %q: ** is allowed once, as PATH/**/NAME, in hide or protect", s)
		}
	}
	return path.Clean(out), nil
}

// real returns where a path leads, and whether nothing may be granted there.
func (v Variables) real(p string) (real string, loose bool) {
	if v.Resolve == nil {
		return p, false
	}
	return v.Resolve(p)
}

// both returns a path and, where that is another, its real one.
func (v Variables) both(p string) []string {
	if real, _ := v.real(p); real != p {
		return []string{p, real}
	}
	return []string{p}
}

// bareName reports whether s is a name that matches itself at any depth.
func bareName(s string) bool {
	return s != "" && !strings.HasPrefix(s, "/") && s != "~" && !strings.HasPrefix(s, "~/") && !strings.HasPrefix(s, "${")
}

// target reads a path, "PATH/**/NAME", or a bare name.
func (v Variables) target(s string) (at, name string, err error) {
	base, name, named := strings.Cut(s, "/**/")
	if rest, ok := strings.CutPrefix(s, "**/"); ok {
		base, name, named = "${project}", rest, true
	} else if bareName(s) {
		base, name, named = "${project}", s, true
	}
	if named {
		if name = strings.TrimSuffix(strings.TrimSuffix(name, "/**"), "/"); name == "" {
			return "", "", fmt.Errorf("target %q: a name follows **/", s)
		}
		if base == "" {
			base = "/"
		}
	}
	if at, err = v.expand(base); err != nil {
		return "", "", err
	}
	return at, name, nil
}

// across also applies names of several elements to a further path in their middle: granting
// "~/x/.git" does not grant .git/hooks. A path that is named itself is granted.
func (d *derivation) across(name string) {
	patterns := strings.Split(name, "/")
	for _, root := range d.named {
		elements := strings.Split(root[1:], "/")
		for n := 1; n < len(patterns) && n <= len(elements); n++ {
			if !slices.EqualFunc(patterns[:n], elements[len(elements)-n:], pattern.Match) {
				continue
			}
			r := profile.Rule{Kind: profile.Protect, Path: root, Origin: "built-in"}
			rest := patterns[n:]
			for len(rest) > 0 && !strings.ContainsAny(rest[0], `*?[\`) {
				r.Path, rest = r.Path+"/"+rest[0], rest[1:]
			}
			r.Name = strings.Join(rest, "/")
			if r.Name != "" || !slices.Contains(d.named, r.Path) {
				d.strict = append(d.strict, r)
			}
		}
	}
}
