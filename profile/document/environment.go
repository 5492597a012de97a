package document

import (
	"maps"
	"path"
	"slices"
	"strings"

	"sandboxd/profile"
)

// searchPath returns the session's PATH: the presets' directories, the person's that are shown, and
// the system's.
func (d *derivation) searchPath(shown profile.Profile) string {
	dirs := slices.Clone(d.path)
	for _, dir := range d.SearchPath {
		if !path.IsAbs(dir) {
			continue
		}
		real, _ := d.vars.real(dir)
		_, access, _ := shown.Effective(real)
		if !slices.Contains(dirs, dir) && access.Has(profile.Exec) && !access.Has(profile.Write) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range strings.Split(d.host.Path, ":") {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

func (d *derivation) environment(shown profile.Profile) profile.Environment {
	e := d.Environment
	e.Pass = slices.Concat(e.Pass, d.preset)
	set := maps.Clone(d.caches)
	maps.Copy(set, map[string]string{"PATH": d.searchPath(shown), "TMPDIR": d.host.Tmp})
	if d.Home != "" {
		set["HOME"] = d.Home
	}
	for name := range set {
		if e.Passes(name) {
			delete(set, name)
		}
	}
	maps.Copy(set, e.Set)
	e.Set = set
	return e
}
