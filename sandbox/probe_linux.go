package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sandboxd/bwrap"
	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/sandbox/stage"
	"sandboxd/seccomp"
)

// A probe that hangs counts as absent. The first, which installs everything at
// once, normally takes 20 ms; together with those that follow when it fails,
// all stay below a second on a machine that is neither crowded (see patient) nor
// slow (see pace).
const (
	fullTimeout  = 600 * time.Millisecond
	aloneTimeout = 300 * time.Millisecond
)

// patient is a limit for a probe on this machine as it is now: where more
// wants to run than can, a slow answer is not a hung one.
func patient(limit time.Duration) time.Duration {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return limit
	}
	first, _, _ := strings.Cut(string(b), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return limit
	}
	const most = 4
	crowd := min(load/float64(runtime.NumCPU()), most)
	return max(limit, time.Duration(crowd*float64(limit)))
}

// pace is how many times longer than usual a program takes here to start, 1 to 10:
// on an emulated processor each step of a probe does.
func (h *Host) pace(ctx context.Context) float64 {
	const firstWait = 5 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, 20*firstWait)
	defer cancel()
	start := time.Now()
	exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", h.stage.Fd())).Run() // says at once that it has no order
	return min(max(1, float64(time.Since(start))/float64(firstWait)), 10)
}

// probe installs every layer for real in throw-away children and fills in
// h.report. First all at once, as a command would get them; only when that
// fails each alone, to learn which one is missing and why.
func (h *Host) probe(ctx context.Context, cgroupErr error) {
	layers := h.probeLayers(ctx)
	if h.cgroups != nil {
		layers = append(layers, Layer{Name: "cgroup", Active: true, Version: "v" + strconv.Itoa(h.cgroups.version())})
	} else {
		layers = append(layers, Layer{Name: "cgroup", Why: cgroupErr.Error(),
			Remedy: "run sandboxd as a service with Delegate=yes, or as root"})
	}
	h.report = Report{Layers: layers, Protections: h.protections(layers)}
	if (h.native || h.report.Layer(BackendBwrap).Active) && !canHoldDevices() {
		h.report.weaken(ProtectFiles, Partial,
			"root's commands can change modes, owners and times of the machine's devices", "the daemon is root without CAP_SYS_ADMIN", "run sandboxd as an ordinary user, or give it CAP_SYS_ADMIN")
	}
}

// probeLayers finds the layers of a sandbox. The back end is the first wanted one that works.
func (h *Host) probeLayers(ctx context.Context) []Layer {
	abi, abiErr := lsm.ABI()
	telling, tellErr := makeFilter(profile.Profile{}, true)
	backends := h.backends()
	ll := Layer{Name: "landlock"}
	sc, tell := Layer{Name: "seccomp"}, Layer{Name: "seccomp listener"}
	var ruleset []byte
	if abiErr == nil {
		ll.Version = "ABI " + strconv.Itoa(abi)
		r, _, err := landlock.Compile(probeProfile(), abi, h.landlockHost(landlock.Inside))
		if err == nil {
			ruleset, err = r.MarshalBinary()
		}
		abiErr = err
	}
	full := stage.Order{Argv: []string{"probe"}, Dir: "/", Probe: true, Seccomp: telling.program, Tells: true}
	if ruleset != nil {
		full.Landlock = [][]byte{ruleset}
	}
	for i := range backends {
		b := &backends[i]
		if b.err != nil || abiErr != nil || tellErr != nil {
			continue
		}
		if b.failed = h.try(ctx, full, telling.policy, b.Name, fullTimeout); b.failed != nil {
			continue
		}
		b.Active, ll.Active, sc.Active, tell.Active = true, true, true, true
		h.landlock, h.seccomp, h.tells = abi, true, true
		return append(h.choose(backends), ll, sc, tell)
	}
	filter, filterErr := makeFilter(profile.Profile{}, false)
	bare := stage.Order{Argv: []string{"probe"}, Dir: "/", Probe: true}
	var work sync.WaitGroup
	limit := time.Duration(h.pace(ctx) * float64(aloneTimeout))
	attempt := func(l *Layer, known error, o stage.Order, backend string) {
		work.Go(func() {
			err := known
			if err == nil {
				err = h.try(ctx, o, telling.policy, backend, limit)
			}
			if l.Active = err == nil; !l.Active {
				l.Why, l.Remedy = explain(l.Name, err)
			}
		})
	}
	onlyLandlock, onlySeccomp, onlyListener := bare, bare, bare
	onlyLandlock.Landlock, onlySeccomp.Seccomp = full.Landlock, filter.program
	onlyListener.Seccomp, onlyListener.Tells = telling.program, true
	for i := range backends {
		attempt(&backends[i].Layer, backends[i].err, bare, backends[i].Name)
	}
	attempt(&ll, abiErr, onlyLandlock, "")
	attempt(&sc, filterErr, onlySeccomp, "")
	attempt(&tell, tellErr, onlyListener, "")
	work.Wait()
	if ll.Active {
		h.landlock = abi
	}
	h.seccomp, h.tells = sc.Active, sc.Active && tell.Active
	return append(h.choose(backends), ll, sc, tell)
}

// A backend is a candidate for the namespaces; err is why it can't be tried, and failed how the
// probe of all layers with it ended.
type backend struct {
	Layer
	err, failed error
}

// notWanted is the error of a back end that the configuration does not choose, and the setting that does.
type notWanted string

func (notWanted) Error() string { return "[sandbox] backend does not choose it" }

// backends lists both, the preferred one first.
func (h *Host) backends() []backend {
	native := backend{Layer: Layer{Name: BackendNative}}
	bw := backend{Layer: Layer{Name: BackendBwrap, Version: h.Version.String()}, err: h.bwrapErr}
	switch h.wanted {
	case BackendNative:
		bw.err = notWanted(BackendBwrap)
	case BackendBwrap:
		native.err = notWanted(BackendNative)
		return []backend{bw, native}
	}
	return []backend{native, bw}
}

// choose leaves only the first back end active that works.
func (h *Host) choose(list []backend) []Layer {
	var layers []Layer
	chosen := ""
	for _, b := range list {
		switch {
		case chosen != "":
			b.Active, b.Why, b.Remedy = false, "not needed: "+chosen+" makes the namespaces", ""
		case b.Active:
			chosen, h.native = b.Name, b.Name == BackendNative
		case b.Why == "":
			b.Why, b.Remedy = explain(b.Name, cmp.Or(b.err, b.failed))
		}
		layers = append(layers, b.Layer)
	}
	return layers
}

// probeProfile is the least that a ruleset can be made of.
func probeProfile() profile.Profile {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read, Path: "/usr"}}})
	if err != nil {
		panic(err) // a constant; a test compiles it
	}
	return p
}

// try runs one probe order to its end, with a back end or, for "", alone. Alone it runs as
// nobody when we are root: the stage refuses to continue with capabilities. watched is
// the policy of a filter with a listener.
func (h *Host) try(ctx context.Context, o stage.Order, watched seccomp.Policy, backend string,
	limit time.Duration) error {
	limit = patient(limit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p := &Plan{Command: Command{Argv: o.Argv}, order: o, watched: watched}
	if backend != "" {
		p.args = []string{"--unshare-all", "--unshare-user", unshareNetwork, "--cap-drop", "ALL", "--die-with-parent",
			"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--chdir", "/"}
	}
	if backend == BackendNative {
		p.operations = Operations([]bwrap.Mount{{Path: "/", Form: bwrap.ReadOnly}, {Path: "/proc", Form: bwrap.Proc},
			{Path: "/dev", Form: bwrap.Dev, Mode: 0o755}}, true, os.Geteuid(), os.Getegid())
	}
	proc, err := h.Start(ctx, p, Stdio{null, null, null}, nil)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("it did not answer within %v", limit)
		}
		return err
	}
	select {
	case <-proc.Done():
	case <-ctx.Done():
		proc.killTree()
		return fmt.Errorf("it did not end within %v", limit)
	}
	if e := proc.Wait(); e.Code != 0 {
		return fmt.Errorf("it ended with status %d", e.Code)
	}
	return nil
}

// explain turns a probe's failure into a cause and a remedy.
func explain(layer string, err error) (why, remedy string) {
	if setting, ok := errors.AsType[notWanted](err); ok {
		return err.Error(), fmt.Sprintf("set [sandbox] backend = %q", string(setting))
	}
	why = err.Error()
	var launch *LaunchError
	if errors.As(err, &launch) {
		why = launch.Cause.Error()
	}
	switch layer {
	case BackendBwrap:
		return explainBwrap(why)
	case BackendNative:
		return explainNamespaces(why)
	case "landlock":
		switch {
		case errors.Is(err, lsm.ErrUnavailable) && strings.Contains(why, "switched off"):
			return "Landlock is disabled at boot", "add landlock to the lsm= boot parameter"
		case errors.Is(err, lsm.ErrUnavailable):
			return "Landlock is not built into this kernel, or a system call filter around us hides it",
				"use a kernel with CONFIG_SECURITY_LANDLOCK=y (Linux 5.13 or newer)"
		}
		return why, "see dmesg for landlock; a container's system call filter may refuse it"
	case "seccomp listener":
		return "system calls can't be reported: " + why,
			"use Linux 5.19 or newer; a container manager that listens itself leaves no place for us"
	case "seccomp":
		return why, "use a kernel with CONFIG_SECCOMP_FILTER=y; a container may forbid filters"
	}
	return why, ""
}

func explainBwrap(why string) (string, string) {
	switch {
	case strings.Contains(why, "not installed"):
		return "bubblewrap is " + why, "install it: apt-get install bubblewrap"
	case strings.Contains(why, "did not"):
		return "bubblewrap hangs: " + why, "reinstall it: apt-get install --reinstall bubblewrap"
	case strings.Contains(why, "regular file"), strings.Contains(why, "belongs to"), strings.Contains(why, "by others"):
		return "bubblewrap is not to be trusted: " + why, "reinstall it: apt-get install --reinstall bubblewrap"
	}
	return explainNamespaces(why)
}

func explainNamespaces(why string) (string, string) {
	switch {
	case sysctlIs("/proc/sys/user/max_user_namespaces", "0"):
		return "user namespaces are switched off (user.max_user_namespaces=0): " + why,
			"sysctl user.max_user_namespaces=15000"
	case sysctlIs("/proc/sys/kernel/unprivileged_userns_clone", "0") && os.Geteuid() != 0:
		return "user namespaces are for root only (kernel.unprivileged_userns_clone=0): " + why,
			"sysctl kernel.unprivileged_userns_clone=1"
	case sysctlIs("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") && os.Geteuid() != 0:
		return "AppArmor forbids user namespaces to programs without a profile: " + why, appArmorRemedy
	case strings.Contains(why, "mount proc"), strings.Contains(why, `"/proc"`): // bwrap's words, and the launch server's
		return "mounting /proc is refused, as in containers that mask parts of it: " + why,
			"run the container with an unmasked /proc"
	case (strings.Contains(why, "namespace") || strings.Contains(why, "fork/exec")) && appArmorProfile() != "" &&
		strings.Contains(strings.ToLower(why), syscall.EACCES.Error()):
		return fmt.Sprintf("AppArmor's profile %q forbids user namespaces: %s", appArmorProfile(), why), appArmorRemedy
	case strings.Contains(why, "namespace") || strings.Contains(why, "uid map"):
		return "user namespaces are refused, as in many containers: " + why,
			"allow user namespaces to this container or host"
	}
	return why, "run sbx doctor after changing the host; the kernel's or bwrap's own message is above"
}

const appArmorRemedy = "as root: cp /usr/share/sandboxd/apparmor/sandboxd /etc/apparmor.d/ && apparmor_parser -r " +
	"/etc/apparmor.d/sandboxd (in the source it is packaging/apparmor/sandboxd)"

// appArmorProfile is the profile that confines this process; "" for none (apparmor(7), "/proc/<pid>/attr/current").
func appArmorProfile() string {
	label, _ := os.ReadFile("/proc/self/attr/current")
	name, _ := strings.CutSuffix(strings.TrimSpace(string(label)), " (enforce)")
	if name == strings.TrimSpace(string(label)) {
		return ""
	}
	return name
}

func sysctlIs(path, value string) bool {
	b, err := os.ReadFile(path)
	return err == nil && strings.TrimSpace(string(b)) == value
}

// uncounted names the memory that the processes' own status does not include.
const uncounted = "; what the kernel holds for it, sockets and files that no process maps, is not counted"

// protections derives the protections from the working layers.
func (h *Host) protections(layers []Layer) []Protection {
	r := Report{Layers: layers}
	bw, ll, sc, cg := r.Namespaces(), r.Layer("landlock"), r.Layer("seccomp"), r.Layer("cgroup")
	alone := !bw.Active && ll.Active && os.Geteuid() != 0
	without := join(bw.Why, ll.Why)
	if ll.Active && !bw.Active && !alone {
		without = "Landlock alone does not hold root: " + bw.Why
	}
	for _, name := range Protections {
		p := Protection{Name: name, Level: Enforced}
		switch name {
		case ProtectFiles, ProtectHidden, ProtectProtected:
			h.filesProtection(&p, bw, ll, alone, without)
		case ProtectNetwork:
			switch {
			case bw.Active:
				p.By = bw.Name
			case alone && sc.Active:
				p.By = "seccomp+landlock"
			case alone && h.landlock >= 4:
				p.By, p.Level, p.Missing = "landlock", Partial, "only TCP is held"
				p.Why, p.Remedy = "no network namespace: "+bw.Why, bw.Remedy
			default:
				p.Level, p.Why, p.Remedy = Absent, without, bw.Remedy
			}
		case ProtectProcesses, ProtectIPC:
			switch {
			case bw.Active:
				p.By = bw.Name
			case alone && h.landlock >= 6:
				p.By, p.Level = "landlock", Partial
				p.Missing = "host processes can be seen; signals and abstract sockets are held"
				p.Why, p.Remedy = "no pid and ipc namespace: "+bw.Why, bw.Remedy
			case alone:
				p.Level, p.Remedy = Absent, bw.Remedy
				p.Why = fmt.Sprintf("no pid and ipc namespace: %s; Landlock ABI %d holds neither signals nor abstract sockets "+
					"(Linux 6.12 does)", bw.Why, h.landlock)
			default:
				p.Level, p.Why, p.Remedy = Absent, without, bw.Remedy
			}
		case ProtectSyscalls:
			p.By = "seccomp"
			if !sc.Active {
				p.By, p.Level, p.Why, p.Remedy = "", Absent, sc.Why, sc.Remedy
			}
		case ProtectPrivileges:
			p.By = "no_new_privs"
		case ProtectLimits:
			h.limitsProtection(&p, bw, cg)
		}
		r.Protections = append(r.Protections, p)
	}
	return r.Protections
}

// filesProtection derives the protection of files. alone: Landlock is the only layer for them; without is why there is
// none.
func (h *Host) filesProtection(p *Protection, bw, ll Layer, alone bool, without string) {
	switch {
	case bw.Active && ll.Active:
		p.By = bw.Name + "+landlock"
	case bw.Active && p.Name == ProtectFiles:
		p.By, p.Level, p.Why, p.Remedy = bw.Name, Partial, "Landlock is missing: "+ll.Why, ll.Remedy
		p.Missing = "what may be read may also be executed"
	case bw.Active:
		p.By = bw.Name
	case alone:
		p.By, p.Level, p.Why, p.Remedy = "landlock", Partial, "no mount namespace: "+bw.Why, bw.Remedy
		p.Missing = "metadata of files outside the profile can be seen and, where permissions allow, changed"
		if h.landlock < 3 {
			p.Missing += fmt.Sprintf("; so can files be emptied, as Landlock ABI %d does not hold truncation (Linux 6.2 does)",
				h.landlock)
		}
	default:
		p.Level, p.Why, p.Remedy = Absent, without, join(bw.Remedy, ll.Remedy)
	}
}

// limitsProtection derives the protection of limits.
func (h *Host) limitsProtection(p *Protection, bw, cg Layer) {
	if cg.Active && bw.Active {
		p.By = "cgroup " + cg.Version
		return
	}
	p.By, p.Level, p.Why, p.Remedy = "setrlimit, watched", Partial, cg.Why, cg.Remedy
	p.Missing = "memory of the whole tree is watched: it can exceed its limit for a moment" + uncounted
	switch {
	case cg.Active:
		p.Why, p.Remedy = "no namespace: "+bw.Why, bw.Remedy
	case bw.Active && h.pidMax:
		p.By = "pid_max, setrlimit, watched"
	case os.Geteuid() == 0: // RLIMIT_NPROC does not bound root (setrlimit(2))
		p.Missing = "memory and processes of the whole tree are watched: they can exceed their limits for a moment" +
			uncounted
	}
}
