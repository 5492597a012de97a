package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/sandbox/stage"
)

// LayerOverlay is the mechanism of [Request.Overlays] in a report that has it.
const LayerOverlay = "overlay"

// An OverlayError is returned where the kernel refuses to mount an overlay of Path. Nothing of the command has run.
type OverlayError struct {
	Path string
	// Cause is the kernel's error, in words.
	Cause string
}

func (e *OverlayError) Error() string {
	return fmt.Sprintf("mount an overlay of %q: %s", e.Path, e.Cause)
}

// Remedy is what a person can do about it.
func (e *OverlayError) Remedy() string {
	switch {
	case strings.Contains(e.Cause, unix.ENODEV.Error()):
		return "load the module with modprobe overlay, or use a kernel with CONFIG_OVERLAY_FS"
	case strings.Contains(e.Cause, unix.EPERM.Error()):
		return "use Linux 5.11 or newer; a container or a security module may refuse overlays in user namespaces"
	}
	return "keep the daemon's state on a file system that overlays can have as their upper one, in a container on a " +
		"volume (sandboxd --state-dir); dmesg says more"
}

// notMounted is err, and that of an overlay of the plan which the kernel refuses to mount as an [OverlayError]
// (overlay and attach of cmd/sandboxd-launch/mounts.c).
func (p *Plan) notMounted(err error) error {
	var failed *StageError
	if p == nil || !errors.As(err, &failed) || failed.Step != stage.StepMounts.String() {
		return err
	}
	for _, o := range p.overlays {
		if cause, ok := strings.CutPrefix(failed.Message, fmt.Sprintf("make a mount for %q: ", o.Path)); ok {
			return &OverlayError{o.Path, cause}
		}
	}
	return err
}

// ProbeOverlays has the report say as [LayerOverlay] whether plans can have overlays, whose layers can land: try calls
// [Host.TryOverlay], and another error than an [OverlayError] says nothing about the host. It is called before the
// host's other methods are called concurrently.
func (h *Host) ProbeOverlays(try func() error) {
	l := Layer{Name: LayerOverlay}
	var refused *OverlayError
	switch ll := h.report.Layer("landlock"); {
	case !h.native:
		l.Why, l.Remedy = `only [sandbox] backend = "native" makes layers`, h.report.Layer(BackendNative).Remedy
	case h.landlock == 0:
		l.Why, l.Remedy = "landings need Landlock: "+ll.Why, ll.Remedy
	default:
		err := try()
		if l.Active = !errors.As(err, &refused); !l.Active {
			l.Why, l.Remedy = "layers can't be mounted: "+refused.Cause, refused.Remedy()
		} else if err != nil {
			l.Why = "it could not be tried: " + err.Error()
		}
	}
	h.report.Layers = append(h.report.Layers, l)
}

// Overlays returns why no plan can have overlays here, or their layers can't land, with the remedy; "" where they can.
func (h *Host) Overlays() string {
	l := h.report.Layer(LayerOverlay)
	switch {
	case l.Active:
		return ""
	case l.Remedy == "":
		return l.Why
	}
	return fmt.Sprintf("%s (%s)", l.Why, l.Remedy)
}

// TryOverlay mounts an overlay of lower with a spare layer as for a command, in a throw-away sandbox, and calls use
// with its top directory; nil: being mounted is enough. Where the kernel refuses the mount, or use fails but for lack
// of room, the error is an [OverlayError].
func (h *Host) TryOverlay(lower string, spares Spares, use func(top *os.File) error) error {
	argv := []string{"probe"}
	p := &Plan{Command: Command{Argv: argv}, order: stage.Order{Argv: argv, Dir: "/", Probe: true}, args: []string{},
		holds: map[string]bool{}}
	p.operations = Operations([]bwrap.Mount{{Path: "/", Form: bwrap.Directory, Mode: 0o755},
		{Path: lower, Form: bwrap.Writable}, {Path: "/proc", Form: bwrap.Proc}}, true, os.Geteuid(), os.Getegid())
	p.overlays = []Overlay{{Path: lower, Upper: "/upper", Work: "/work", Spares: spares}}
	if err := p.replace(p.overlays[0]); err != nil {
		return err
	}
	l, err := h.lay(p)
	if err != nil {
		return err
	}
	defer l.kill(l.proc)
	if use == nil {
		return nil
	}
	fd, err := unix.Openat2(int(l.proc.root.Fd()), lower,
		&unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return &os.PathError{Op: "open", Path: lower, Err: err}
	}
	top := os.NewFile(uintptr(fd), lower)
	defer top.Close()
	err = use(top)
	if err == nil || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return &OverlayError{lower, err.Error()}
}
