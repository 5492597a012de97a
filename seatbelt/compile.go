package seatbelt

import (
	"fmt"
	"path"

	"sandboxd/profile"
)

// Result is a profile in SBPL.
type Result struct {
	// Text is the profile, for sandbox-exec -p or -f. It holds no path of the profile.
	Text string
	// Params are "KEY=value", one for each (param "KEY") of Text.
	Params []string
	// Gaps are the rules that the text does not enforce, or only by granting less.
	Gaps []profile.Gap
}

// Args returns the arguments of sandbox-exec(1) before the command.
func (r Result) Args() []string {
	args := []string{"-p", r.Text}
	for _, p := range r.Params {
		args = append(args, "-D", p)
	}
	return args
}

// Host has the facts besides the profile that the text depends on. The zero value knows nothing of
// the host.
type Host struct {
	// Proxy is the port on localhost where the allowlist proxy listens; 0: there is none, and mode allowlist reaches
	// nothing.
	Proxy uint16
	// Found are the real paths, of existing files and directories, that rules by name protect or hide. The directories
	// above them are pinned: they cannot be renamed. nil: nobody has looked. Path rules need no finding.
	Found []string
}

// Compile writes p for a host of which nothing is known. See [Host.Compile].
func Compile(p profile.Profile) (Result, error) { return Host{}.Compile(p) }

// Compile writes p. It fails on a path in Found that is not absolute and clean.
func (h Host) Compile(p profile.Profile) (Result, error) {
	for _, f := range h.Found {
		if !path.IsAbs(f) || path.Clean(f) != f {
			return Result{}, fmt.Errorf("seatbelt found %q: not an absolute, clean path", f)
		}
	}
	real, err := resolve(p)
	if err != nil {
		return Result{}, err
	}
	w := &writer{}
	w.raw("(version 1)\n(deny default)\n\n")
	w.raw(runtimeRules)
	w.processes(p)
	f := files{writer: w, profile: real, found: h.Found}
	f.write()
	w.network(p.Network(), h.Proxy)
	f.pins()
	w.raw(lastRules)
	return Result{Text: w.text.String(), Params: w.params, Gaps: w.gaps}, nil
}
