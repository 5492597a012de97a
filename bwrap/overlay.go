package bwrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// OverlaySince is the first release with --overlay.
var OverlaySince = Version{0, 11, 0}

// maxOverlayOptions bounds the options of an overlay in bytes: mount(2) takes a page of them.
const maxOverlayOptions = 4095

// An Overlay is a mount of several directories of the host, each an absolute and clean path.
type Overlay struct {
	// Path is the lowest directory, and where the mount is.
	Path string
	// Above are further lower directories, the topmost first.
	Above []string
	// Upper and Work are as in overlayfs; "" has the mount read-only, which needs an entry in Above.
	Upper, Work string
}

// WithOverlay returns the result with the options of an overlay in the place of the mount of its path, which is
// writable if the overlay is (bwrap(1), --overlay). They need [OverlaySince]. It fails where there is no such mount,
// where another mount below shows the host's tree, which bwrap can't have show the overlay's, and where the overlay has
// more directories than one mount takes.
func (r Result) WithOverlay(o Overlay) (Result, error) {
	bind, want := "--bind", Writable
	if o.Upper == "" {
		bind, want = "--ro-bind", ReadOnly
	}
	args, found, options := slices.Clone(r.Args), false, o.options()
	replace := func(option, path string, with ...string) {
		for i := 0; i+2 < len(args); i++ { // no option takes another's name before two equal absolute paths
			if args[i] == option && args[i+1] == path && args[i+2] == path {
				args = slices.Replace(args, i, i+3, with...)
				return
			}
		}
	}
	for _, m := range r.Layout {
		switch {
		case m.Path == o.Path && m.Form == want:
			replace(bind, o.Path, options...)
			found = true
		case m.Path == o.Path || !m.Form.Host() || !abspath.Contains(o.Path, m.Path):
		case m.Form == Pin:
			replace("--bind", m.Path) // overlayfs renames no lower directory without redirect_dir: EXDEV
		default:
			return Result{}, fmt.Errorf("bwrap can't mount %q of the layer again, which is %s", m.Path, m.Form)
		}
	}
	switch {
	case !found:
		return Result{}, errors.New("the profile has no such mount there")
	case len(args) > maxArgs || o.size() > maxOverlayOptions:
		return Result{}, fmt.Errorf("%d layers above it are more than one mount of bwrap takes", len(o.Above))
	}
	r.Args = args
	return r, nil
}

// options are those of the mount. bwrap takes the lowest directory first.
func (o *Overlay) options() []string {
	args := []string{"--overlay-src", o.Path}
	for _, dir := range slices.Backward(o.Above) {
		args = append(args, "--overlay-src", dir)
	}
	if o.Upper == "" {
		return append(args, "--ro-overlay", o.Path)
	}
	return append(args, "--overlay", o.Upper, o.Work, o.Path)
}

// size is the length of the options that bwrap passes to mount(2), in bytes.
func (o *Overlay) size() int {
	n := len("upperdir=,workdir=,lowerdir=,userxattr")
	for _, dir := range append([]string{o.Upper, o.Work, o.Path}, o.Above...) {
		n += len(":/oldroot") + len(dir)
		for _, escaped := range `\,:` {
			n += strings.Count(dir, string(escaped))
		}
	}
	return n
}
