package sandbox

// Options say where a host's parts are.
type Options struct {
	// Stage is the static helper's file, sandboxd-launch.
	Stage string
	// Bwrap lists where bwrap may be, in order; empty: [bwrapPaths]. The PATH
	// of the environment is never searched.
	Bwrap []string
	// Backend is "bwrap", "native" or "auto", which is native where it is usable, else bwrap. Empty means "auto".
	Backend string
	// Warm is how many sandboxes may wait for their command; 0 is none.
	Warm int
}

// bwrapPaths is where bwrap is looked for.
var bwrapPaths = []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"}
