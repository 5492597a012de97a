package shell

import (
	"runtime"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// sources lists the devices that every sandbox has and that have no content of the host (null(4), random(4)).
var sources = []string{"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// ownSource reports whether a path is one of sources, a descriptor of the process that opens it, or what the kernel
// says of that process.
func ownSource(abs string) bool {
	switch abs {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2":
		return true
	}
	return slices.Contains(sources, abs) || strings.HasPrefix(abs, "/proc/self/")
}

// systemShown are the places of the system that every sandbox shows, or that hold nothing but the limits of a program.
var systemShown = func() []string {
	system := profile.SystemOf(runtime.GOOS)
	return slices.Concat(system.Trees, system.Files, []string{"/dev/shm", "/dev/pts", "/sys/fs/cgroup"})
}()

// shown reports whether the sandbox shows a place outside the project as far as it is there at all: of the system, on
// the way to the project, or the home directory, of which it has its own. A command that reads there reads no more
// than any program that runs unasked.
func (j *judging) shown(abs string) bool {
	return abspath.Contains(abs, j.cmd.project()) || abs == j.cmd.Home ||
		slices.ContainsFunc(systemShown, func(dir string) bool { return abspath.Contains(dir, abs) })
}

// ownGlob reports whether a glob in /tmp matches nothing on the host: it means what commands made in their own.
func (j *judging) ownGlob(at place) bool {
	if !at.glob || at.readable || !strings.HasPrefix(at.path, "/tmp/") {
		return false
	}
	matches, known := j.matches(at.path)
	return known && len(matches) == 0
}
