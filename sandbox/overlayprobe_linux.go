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
	case strings.Contains(e.Cause, "setuid"):
		return `set [sandbox] backend = "native", or take the set-user-ID bit from bwrap`
	case strings.Contains(e.Cause, unix.EPERM.Error()):
		return "use Linux 5.11 or newer; a container or a security module may refuse overlays in user namespaces"
	}
	return "keep the daemon's state on a file system that overlays can have as their upper one, in a container on a " +
		"volume (sandboxd --state-dir); dmesg says more"
}

// notMounted is err, and that of an overlay of the plan which the kernel refuses to mount as an [OverlayError]
// (overlay and attach of cmd/sandboxd-launch/mounts.c; PRIV_SEP_OP_OVERLAY_MOUNT of bubblewrap.c, and its option, which
// a set-user-ID one has not).
func (p *Plan) notMounted(err error) error {
	var failed *StageError
	var launch *LaunchError
	if p == nil {
		return err
	}
	for _, o := range p.overlays {
		switch {
		case errors.As(err, &failed) && failed.Step == stage.StepMounts.String():
			if cause, ok := strings.CutPrefix(failed.Message, fmt.Sprintf("make a mount for %q: ", o.Path)); ok {
				return &OverlayError{o.Path, cause}
			}
		case errors.As(err, &launch) && p.operations == nil:
			why := launch.Cause.Error()
			if strings.Contains(why, "overlay mount on /newroot"+o.Path+" with") || strings.Contains(why, "--overlay option") {
				return &OverlayError{o.Path, strings.ToLower(why[strings.LastIndex(why, ": ")+len(": "):])}
			}
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
	case !h.makesOverlays():
		l.Why = `only [sandbox] backend = "native" makes layers, or bwrap from ` + bwrap.OverlaySince.String() + " on"
		l.Remedy = h.report.Layer(BackendNative).Remedy
	case h.landlock == 0:
		l.Why, l.Remedy = "landings need Landlock: "+ll.Why, ll.Remedy
	case h.landlock < 2: // landlock(7), LANDLOCK_ACCESS_FS_REFER
		l.Why, l.Remedy = "landings rename files, which Landlock permits from ABI 2 on", "use Linux 5.19 or newer"
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
	result := bwrap.Result{Args: []string{"--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent",
		"--bind", lower, lower, "--proc", "/proc", "--chdir", "/"}}
	result.Layout = []bwrap.Mount{{Path: "/", Form: bwrap.Directory, Mode: 0o755},
		{Path: lower, Form: bwrap.Writable}, {Path: "/proc", Form: bwrap.Proc}}
	p := &Plan{Command: Command{Argv: argv}, order: stage.Order{Argv: argv, Dir: "/", Probe: true}, args: result.Args,
		result: &result, holds: map[string]bool{}}
	if h.native {
		p.operations = Operations(result.Layout, true, os.Geteuid(), os.Getegid())
	}
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
	top, err := os.Open(l.proc.rootPath(l.stage) + lower)
	if err != nil {
		return err
	}
	defer top.Close()
	err = use(top)
	if err == nil || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return &OverlayError{lower, err.Error()}
}
