package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// RootError says why a directory can never be a session's root (R-IP-07).
type RootError struct{ Dir, Why string }

func (e *RootError) Error() string { return fmt.Sprintf("use %q as a project: %s", e.Dir, e.Why) }

// systemDirs are trees that belong to the system: neither they nor anything
// in them is a project, except below the places that hold people's files.
var systemDirs = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run",
	"/sbin", "/sys", "/usr", "/var/lib", "/var/run", "/var/log", "/var/cache", "/var/spool",
	"/System", "/Library", "/Applications", "/private/etc", "/private/var/db",
}

// notRoots are directories that are no project themselves although projects
// may lie in them.
var notRoots = []string{"/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/mnt", "/media", "/opt", "/srv", "/Users",
	"/private", "/private/tmp", "/private/var"}

// guard knows which directories may be roots, at the moment for which it was made.
type guard struct{ homes, own []string } // real paths

// newGuard returns a guard for the home directories of people, and for our own state,
// configuration, sockets and binaries.
func newGuard(homes, own []string) guard {
	var g guard
	for _, home := range homes {
		g.homes = append(g.homes, RealPath(home))
	}
	for _, at := range own {
		g.own = append(g.own, RealPath(at))
	}
	return g
}

// check resolves dir and returns its real path, or a *RootError.
func (g guard) check(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", &RootError{dir, "it is not an absolute path"}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &RootError{dir, reason(err)}
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return "", &RootError{dir, "it is not a directory"}
	}
	switch {
	case strings.ContainsAny(real, "\x00\n"):
		return "", &RootError{dir, "its path has a line break; give that directory another name"}
	case slices.Contains(notRoots, real):
		return "", &RootError{dir, "it is too wide; choose a directory inside it"}
	}
	for _, sys := range systemDirs {
		if abspath.Contains(sys, real) {
			return "", &RootError{dir, "it belongs to the system (" + sys + ")"}
		}
	}
	for _, home := range g.homes {
		if home != "/" && abspath.Contains(real, home) {
			return "", &RootError{dir, "it is or contains the home directory " + home + "; choose a directory inside it"}
		}
	}
	for _, own := range g.own {
		if abspath.Contains(real, own) || abspath.Contains(own, real) {
			return "", &RootError{dir, "it holds this product's own files (" + own + ")"}
		}
	}
	return real, nil
}

// realHome is a home directory as roots are, by its real path: private and hidden paths in it are so for the
// directory itself.
func realHome(home string) string {
	if !filepath.IsAbs(home) {
		return home
	}
	return RealPath(home)
}

// alsoReal adds where the paths really are.
func alsoReal(paths []string) []string {
	list := slices.Clone(paths)
	for _, path := range paths {
		if real := RealPath(path); !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	return list
}

// reason is the cause inside a path error, without the path that the caller
// names anyway.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// enclosingRepository returns the nearest directory at or above dir that has a
// .git, or dir itself. The walk stops below home directories and at
// directories that can be no root, so that a stray ~/.git takes nobody's home.
func (g guard) enclosingRepository(dir string) string {
	for d := RealPath(dir); ; d = filepath.Dir(d) {
		if _, err := g.check(d); err != nil {
			return RealPath(dir)
		}
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return RealPath(dir)
		}
	}
}
