package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/sandbox/stage"
	"sandboxd/seccomp"
)

// Plan compiles r for this host. It returns an *[UnenforcedError] when a
// required protection would not hold; nothing is asked or started then.
func (h *Host) Plan(r Request) (*Plan, error) {
	if h.stage == nil {
		return nil, &UnenforcedError{Unmet: h.report.Unmet(Protections)}
	}
	if len(r.Command.Argv) == 0 {
		return nil, errors.New("plan: no command")
	}
	p := &Plan{Profile: r.Profile, Command: r.Command, Report: h.report.clone(), files: r.Files}
	layers := []profile.Profile{r.Profile}
	if r.Operator != nil {
		layers = []profile.Profile{*r.Operator, r.Profile}
	}
	c, err := h.compile(r, layers)
	if err != nil {
		return nil, err
	}
	p.operations, p.enforced, p.result = c.operations, c.enforced, &c.result
	p.args, p.nulls, p.holds, p.mounts, p.rules, p.made, p.tmpfs = c.args, c.nulls, c.holds, c.mounts, c.rules, c.digest,
		c.tmpfs
	if err := p.overlay(r, h.makesOverlays()); err != nil {
		return nil, err
	}
	p.order.Landlock, p.order.Seccomp = c.landlock, c.filter.program
	p.order.Tells, p.watched = h.tells, c.filter.policy
	p.Gaps = slices.Clip(c.gaps)
	if p.args == nil {
		open := p.Gaps
		if h.seccomp && p.Profile.Network().Mode != profile.NetFull {
			open = slices.DeleteFunc(slices.Clone(open), func(g profile.Gap) bool {
				return g.Mechanism == "landlock" && slices.Contains(closedByFilter, g.Protection)
			})
		}
		p.Report.lower(open, weakensAlone)
	} else {
		p.Report.lower(p.Gaps)
	}
	if unmet := p.Report.Unmet(r.Require); len(unmet) > 0 {
		return nil, &UnenforcedError{Unmet: unmet}
	}
	p.unheld(r.Unheld)
	p.order.Argv, p.order.Path, p.order.Env, p.order.Dir = r.Command.Argv, r.Command.Path, r.Command.Env, r.Command.Dir
	if r.Command.Program != nil {
		p.order.Path = "/proc/self/fd/" + strconv.Itoa(p.programFD())
	}
	if p.order.Listen, p.order.Dialers = r.Listen, r.Dialers; len(r.Listen)+r.Dialers > 0 {
		if err := p.checkSockets(); err != nil {
			return nil, err
		}
	}
	p.order.Terminal = r.Terminal
	p.order.Umask = 0o022
	limits := r.Profile.Limits()
	if p.args == nil {
		p.withoutMounts()
		if limits.Processes > 0 {
			// Without a user namespace of its own the limit counts all that
			// the user runs. The tree alone is watched.
			limits.Processes += userTasks()
		}
	}
	p.order.Limits = rlimits(limits, h.cgroups != nil)
	return p, nil
}

// programFD is the number of Command.Program's descriptor in the stage: after those that bwrap's
// arguments name, or without bwrap in the place of those.
func (p *Plan) programFD() int {
	if p.args == nil {
		return stage.FDArgs
	}
	return stage.FDFree + p.nulls
}

// checkSockets refuses ports and dialers where the command's localhost would be the host's.
// Landlock's rules for TCP know ports, not addresses: a rule for a proxy's port
// would let the same port of every machine be reached.
func (p *Plan) checkSockets() error {
	switch {
	case p.args == nil:
		return &UnenforcedError{Unmet: []Protection{{Name: ProtectNetwork, Level: Absent,
			Missing: "named hosts can't be distinguished from others",
			Why:     "there is no network namespace here, and Landlock knows ports only",
			Remedy:  "make user namespaces available to bwrap, or set [network] mode to none"}}}
	case p.Profile.Network().Mode == profile.NetNone, p.Profile.Network().Mode == profile.NetFull:
		return fmt.Errorf("plan: mode %q has no localhost of its own", p.Profile.Network().Mode)
	case len(p.order.Listen)+p.order.Dialers > stage.MaxSockets:
		return fmt.Errorf("plan: %d sockets between inside and outside are more than %d; name fewer ports",
			len(p.order.Listen)+p.order.Dialers, stage.MaxSockets)
	}
	return nil
}

// withoutMounts says which files of the request the command does not see.
func (p *Plan) withoutMounts() {
	for _, f := range p.files {
		p.Gaps = append(p.Gaps, profile.Gap{Mechanism: "landlock", Protection: "narrowed", Object: f.Path,
			Why:    "without a mount namespace nothing can be put into the sandbox",
			Remedy: "make user namespaces available to bwrap"})
	}
}

// userTasks counts the processes and threads of the daemon's user.
func userTasks() int {
	entries, _ := os.ReadDir("/proc")
	n := 0
	for _, e := range entries {
		var st unix.Stat_t
		if _, err := strconv.Atoi(e.Name()); err != nil || unix.Stat("/proc/"+e.Name()+"/task", &st) != nil ||
			int(st.Uid) != os.Getuid() {
			continue
		}
		n += int(st.Nlink) - 2 // one directory per thread (proc(5))
	}
	return n
}

// compiled is the result of compiling profiles for the host as it is. It is
// never changed.
type compiled struct {
	args       []string
	result     bwrap.Result
	operations []stage.Operation
	nulls      int
	holds      map[string]bool
	mounts     []string // the paths of holds, sorted
	rules      []string
	tmpfs      []string
	landlock   [][]byte
	filter     madeFilter
	enforced   profile.Profile // by the mounts: without the protected names of overlays
	gaps       []profile.Gap
	digest     string // of all inputs of the enforcement

	asked *questions // of the host; nil: they can't be asked again
}

// compilations caches compilations by their inputs. The zero
// value is empty and ready.
type compilations struct {
	mu   sync.Mutex
	made map[compiledKey]*compiled
}

// compiledKey is all that is compiled from, besides the host. A profile's digest is
// never zero.
type compiledKey struct {
	terminal          bool
	profile, operator profile.Digest
	overlays          string // their paths
}

// maxCompilations bounds how many are kept.
const maxCompilations = 256

// compile returns the result of a compilation now. A cached one is used only if the
// host gives the same answers to all of its questions.
func (h *Host) compile(r Request, layers []profile.Profile) (*compiled, error) {
	key := compiledKey{terminal: r.Terminal, profile: r.Profile.Digest()}
	for _, o := range r.Overlays {
		key.overlays += o.Path + "\x00"
	}
	if r.Operator != nil {
		key.operator = r.Operator.Digest()
	}
	h.compilations.mu.Lock()
	c := h.compilations.made[key]
	h.compilations.mu.Unlock()
	if c != nil && c.asked.still() {
		return c, nil
	}
	look := newRecorder(h.watch, &h.lists, &h.around)
	c, err := h.compileWith(r, layers, look)
	if err != nil {
		look.group.Close()
		return nil, err
	}
	if c.asked = look.questions(); c.asked == nil {
		return c, nil
	}
	if c.args == nil {
		c.asked.close()
		return c, nil
	}
	h.compilations.keep(key, c)
	return c, nil
}

// keep caches c in the place of an earlier compilation.
func (k *compilations) keep(key compiledKey, c *compiled) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		k.made = map[compiledKey]*compiled{}
	}
	if old := k.made[key]; old != nil {
		old.asked.close()
	} else if len(k.made) >= maxCompilations {
		for _, old := range k.made {
			old.asked.close()
		}
		clear(k.made)
	}
	k.made[key] = c
}

func (h *Host) compileWith(r Request, layers []profile.Profile, look *recorder) (*compiled, error) {
	c := &compiled{tmpfs: privateOf(r.Profile), enforced: r.Profile}
	if err := h.compileMounts(c, r, look); err != nil {
		return nil, err
	}
	if err := h.compileLandlock(c, layers, look); err != nil {
		return nil, err
	}
	if h.seccomp {
		var err error
		if c.filter, err = h.filter(r.Profile, c.args == nil); err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
		c.gaps = append(c.gaps, c.filter.gaps...)
	}
	c.digest = digestOf(c.args, c.landlock, c.filter.program)
	return c, nil
}

func digestOf(args []string, landlock [][]byte, seccomp []byte) string {
	b, err := json.Marshal(struct {
		Args   []string
		Layers [][]byte
		Filter []byte
	}{args, landlock, seccomp})
	if err != nil {
		panic(err) // only strings and bytes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (h *Host) compileMounts(c *compiled, r Request, look *recorder) error {
	if !h.report.Namespaces().Active {
		if os.Geteuid() == 0 {
			return &UnenforcedError{Unmet: []Protection{h.report.Find(ProtectFiles)}}
		}
		return nil
	}
	all := []profile.Profile{r.Profile}
	if r.Operator != nil {
		all = append(all, *r.Operator)
	}
	for _, o := range r.Overlays { // their protected names are judged before they land
		for i := range all {
			all[i] = all[i].WithoutProtectedNames(o.Path)
		}
	}
	c.enforced = all[0]
	version := h.Version
	if h.native {
		version = nativeVersion
	}
	var layers []string
	for _, o := range r.Overlays {
		layers = append(layers, o.Path)
	}
	result, err := bwrap.Compile(all[0], all[1:], bwrap.Host{Version: version, FS: look, Euid: os.Geteuid(),
		Terminal: r.Terminal, Descriptor: stage.FDFree, Layers: layers})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	c.result, c.args, c.nulls = result, result.Args, result.Descriptors
	if h.native {
		own := slices.Contains(result.Args, unshareNetwork)
		c.operations, c.nulls = Operations(result.Layout, own, os.Geteuid(), os.Getegid()), 0
	}
	c.holds = map[string]bool{}
	for _, m := range result.Layout {
		c.holds[m.Path] = m.Form != bwrap.Writable && m.Form != bwrap.Pin && m.Form != bwrap.Device
	}
	c.mounts = slices.Sorted(maps.Keys(c.holds))
	c.gaps = append(c.gaps, result.Gaps...)
	return nil
}

func (h *Host) compileLandlock(c *compiled, layers []profile.Profile, look *recorder) error {
	if h.landlock == 0 {
		if c.args == nil {
			return &UnenforcedError{Unmet: []Protection{h.report.Find(ProtectFiles)}}
		}
		return nil
	}
	place := landlock.Inside
	if c.args == nil {
		place = landlock.Alone
	}
	host := h.landlockHost(place)
	host.FS = look
	for _, layer := range layers {
		ruleset, gaps, err := landlock.Compile(layer, h.landlock, host)
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		encoded, err := ruleset.MarshalBinary()
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		c.landlock = append(c.landlock, encoded)
		for _, r := range ruleset.Paths {
			if _, mounted := c.holds[r.Path]; !mounted {
				c.rules = append(c.rules, r.Path)
			}
		}
		c.gaps = append(c.gaps, gaps...)
	}
	return nil
}

// filters keeps compiled system call filters: assembling one takes libseccomp
// milliseconds, and profiles differ in few things that a filter knows of.
type filters struct {
	mu   sync.Mutex
	made map[string]madeFilter
}

type madeFilter struct {
	policy  seccomp.Policy
	program []byte
	gaps    []profile.Gap
}

// filter returns the filter of p; alone says that no namespace helps it.
func (h *Host) filter(p profile.Profile, alone bool) (madeFilter, error) {
	key := fmt.Sprint(p.Network().Mode, p.Syscalls(), p.Processes(), alone)
	h.filters.mu.Lock()
	defer h.filters.mu.Unlock()
	if m, ok := h.filters.made[key]; ok {
		return m, nil
	}
	var missing []seccomp.Wall
	if alone {
		missing = []seccomp.Wall{seccomp.IPC, seccomp.Net, seccomp.PID}
	}
	m, err := makeFilter(p, h.tells, missing...)
	if err != nil {
		return m, err
	}
	if h.filters.made == nil {
		h.filters.made = map[string]madeFilter{}
	}
	h.filters.made[key] = m
	return m, nil
}

func makeFilter(p profile.Profile, tells bool, missing ...seccomp.Wall) (madeFilter, error) {
	policy, gaps, err := seccomp.For(p, seccomp.Native(), missing...)
	if err != nil {
		return madeFilter{}, err
	}
	if len(missing) == 0 { // else there is no namespace
		policy = policy.Owned(uint32(os.Geteuid()), uint32(os.Getegid()))
	}
	if tells {
		policy = policy.Telling()
	}
	program, left, err := policy.Program()
	return madeFilter{policy, program, append(gaps, left...)}, err
}

func (h *Host) landlockHost(place landlock.Place) landlock.Host {
	fixed, err := lsm.FixedErrata()
	if err != nil {
		fixed = 0 // unknown: the compiler assumes none
	}
	return landlock.Host{FS: bwrap.HostFS(), Place: place, Euid: os.Geteuid(), Errata: fixed}
}

// rlimits are the limits that a process can set for itself. Processes come
// last: a stage that becomes the command still needs threads. RLIMIT_NPROC counts per user
// namespace since Linux 5.14, and does not bind root (setrlimit(2)); the stage adds its
// own threads where it stays. Where a control group limits the processes, its limit is reached first: the
// kernel counts its refusals.
func rlimits(l profile.Limits, grouped bool) []stage.Rlimit {
	var list []stage.Rlimit
	add := func(resource int, v int64) {
		if v > 0 {
			list = append(list, stage.Rlimit{Resource: uint32(resource), Value: uint64(v)})
		}
	}
	list = append(list, stage.Rlimit{Resource: unix.RLIMIT_CORE, Value: 0})
	if l.CPU > 0 { // whole seconds, and 0 would be no limit
		add(unix.RLIMIT_CPU, max(1, int64(l.CPU/time.Second)))
	}
	add(unix.RLIMIT_FSIZE, l.FileSize)
	add(unix.RLIMIT_NOFILE, int64(l.OpenFiles))
	if l.Processes > 0 && grouped {
		l.Processes += ownTasks
	}
	add(unix.RLIMIT_NPROC, int64(l.Processes))
	return list
}
