package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"sandboxd/bwrap"
	"sandboxd/profile"
	"sandboxd/sandbox/stage"
	"sandboxd/seccomp"
)

// Request is the input of a plan.
type Request struct {
	// Profile is derived ∩ operator: the command's permissions.
	Profile profile.Profile
	// Operator is the operator's profile alone. It is applied a second time, as
	// masks and as Landlock's first layer, so that the kernel itself
	// intersects. nil: there is none.
	Operator *profile.Profile
	Command  Command
	// Files are put into the sandbox read-only, each inside a private
	// directory of the profile.
	Files []File
	// Overlays are writable directories of the profile that the command changes a layer of only. A
	// host that can't make one refuses the plan ([ErrNoOverlay]).
	Overlays []Overlay
	// Listen are TCP ports on the command's own localhost that are served from
	// outside ([Process.Sockets]); Dialers is how many connections can be made to
	// its localhost from outside. Both take a network namespace of its own.
	Listen  []uint16
	Dialers int
	// Terminal: standard input is a terminal made for the command.
	Terminal bool
	// Unheld lists denials of the configuration that Profile can't express. They are
	// reported; a host that requires a protection is not refused for them, as no host has more.
	Unheld []profile.Gap
	// Require lists protections that must be enforced in full.
	Require []string
}

// Command is the program to execute.
type Command struct {
	Argv []string
	Path string // absolute file to execute; empty: Argv[0] along PATH
	// Program is executed instead of Path: a file that need not be visible
	// inside, as [DataFile] makes one. It is the caller's, who closes it.
	Program *os.File
	Env     []string // complete, "NAME=value"
	Dir     string   // absolute
}

// Overlay is a directory of the host that the command sees below a writable layer of its own: the host's
// is not changed. Upper and Work are empty directories, on one file system, of the daemon's user; "" has the
// command only read. Above are upper directories of earlier layers, which it sees above the host's, the topmost
// first; nobody changes them meanwhile. The command can reach none of these by its own path. One Upper is in one
// sandbox at a time. All are absolute and clean.
type Overlay struct {
	Path, Upper, Work string
	Above             []string
	// Begin makes Upper and Work when the command is about to start: where spare is not "" of the spare layer there, of
	// whose mount nothing was read. nil: they exist.
	Begin func(spare string) error
	// Spares makes the layers of sandboxes that wait for the next such command; nil: none waits.
	Spares Spares
}

// Spares makes spare layers. A layer is a directory with the Upper and the Work of an [Overlay], by the same names.
type Spares interface {
	// Make makes a spare layer and returns its directory.
	Make() (dir string, err error)
	// Drop deletes a spare layer, or its rest.
	Drop(dir string)
}

// MaxAbove bounds [Overlay.Above].
const MaxAbove = stage.MaxOverlay - 3

// ErrNoOverlay is returned for a plan with overlays on a host whose back end makes none.
var ErrNoOverlay = errors.New("only the native back end makes overlays, and bwrap 0.11 or newer")

// File is content at a path inside the sandbox.
type File struct {
	Path string
	Data []byte
}

// Plan says exactly how one command will be confined on this host.
type Plan struct {
	Profile profile.Profile
	Command Command
	// Gaps are the parts of the profile that the mechanisms can't enforce here.
	Gaps []profile.Gap
	// Report is the host's, lowered by the gaps.
	Report Report

	order      stage.Order
	watched    seccomp.Policy // by which the order's filter reports calls, if it does
	args       []string       // bwrap's; nil: Landlock alone
	result     *bwrap.Result  // its layout; nil: without mounts, and in probes
	overlays   []Overlay
	enforced   profile.Profile   // by the mounts: without the protected names of overlays
	operations []stage.Operation // the native back end's; nil: only bwrap can make this sandbox
	nulls      int               // descriptors of /dev/null that args name, from stage.FDFree on
	files      []File
	made       string          // digest of args, Landlock's layers and the filter
	rules      []string        // paths of Landlock's rules that are none of holds
	holds      map[string]bool // paths of mounts: whether the command is kept from changing them
	mounts     []string        // the same paths, sorted
	tmpfs      []string        // private directories, which live in memory
	place      *Place          // that it joins; nil: none. network: with its loopback
	network    bool
	shared     map[string]string // directories of the place, by the private ones that they replace
}

// unheld reports limits that no mechanism holds.
func (p *Plan) unheld(gaps []profile.Gap) {
	p.Gaps = append(p.Gaps, gaps...)
	p.Report.lower(gaps)
}

// Mounts are the paths of mounts, and whether each keeps the command from changing
// the host's entries there and below, down to the next mount. It must not be changed.
func (p *Plan) Mounts() map[string]bool { return p.holds }

// Digest identifies the program to run and its permissions, with everything that
// decides them. An answer is bound to it.
func (p *Plan) Digest() string {
	type shown struct {
		Profile string
		Argv    []string
		Path    string
		Env     []string
		Dir     string
		Made    string
		Files   []File
		Layered []string `json:",omitempty"`
		Listen  []uint16
		Dialers int
	}
	var layered []string // where a layer is kept is another place for each run
	for _, o := range p.overlays {
		layered = append(layered, o.Path)
	}
	b, err := json.Marshal(shown{p.Profile.Digest().String(), p.Command.Argv, p.Command.Path, p.Command.Env,
		p.Command.Dir, p.made, p.files, layered, p.order.Listen, p.order.Dialers})
	if err != nil {
		panic(err) // only strings and bytes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// StagePath is the path of the helper beside the daemon's own binary.
func StagePath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), "sandboxd-launch"), nil
}
