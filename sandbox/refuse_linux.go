package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/seccomp"
)

// observer looks at the calls that a sandbox's filter reports and notes those
// that the sandbox refuses. It decides nothing: the filter refuses
// by number and arguments, and a call that it permits meets mounts,
// Landlock and the network namespace in the kernel. So nothing is lost when a program
// changes a path while we read it, except that we report the wrong name. The calls that it makes itself, on an object
// that it has opened, are the lent ones (setGroupID).
type observer struct {
	profile profile.Profile
	by      string
	rootFD  int // the sandbox's root, -1 where it can't be had
	found   *refusals
	unkept  *unkept
	kept    bool     // /tmp is the session's
	layered []string // directories that the command changes a layer of
	path    [maxPath]byte
}

const maxPath = 4096 // PATH_MAX

// listen starts to answer the listener of a command whose filter has one; files
// has it, or nothing.
func (p *Process) listen(files []*os.File, plan *Plan) {
	if len(files) == 0 {
		return
	}
	p.listener = seccomp.NewListener(files[0], plan.watched)
	o := &observer{profile: plan.enforced, by: plan.Report.Find(ProtectFiles).By,
		found: &p.refusals, unkept: &p.unkept, kept: plan.shared["/tmp"] != "", rootFD: -1}
	for _, overlay := range plan.overlays {
		if overlay.Upper != "" {
			o.layered = append(o.layered, overlay.Path)
		}
	}
	// A path is resolved in the sandbox's own tree of mounts.
	if fd, err := unix.Open(p.rootPath(p.leader), unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
		o.rootFD = fd
	}
	go func() {
		p.listener.Serve(o.see)
		if o.rootFD >= 0 {
			unix.Close(o.rootFD)
		}
	}()
}

// see notes one call, if the sandbox refuses it, and makes it, if it is lent.
func (o *observer) see(c *seccomp.Call) {
	if c.Lent {
		if c.Answer = o.setGroupID(c); c.Answer != seccomp.EPERM {
			return
		}
	}
	switch {
	case c.Answer != seccomp.Allow && (c.Name == "socket" || c.Name == "socketpair"):
		o.found.add(o.socket(c))
	case c.Answer != seccomp.Allow:
		o.found.add(Refusal{Kind: RefusedSyscall, Op: "call", Object: c.Name, Rule: "system call filter: " + c.Why,
			By: "seccomp"})
	case c.Name == "connect":
		o.connect(c)
	default:
		o.files(c)
	}
}

func (o *observer) socket(c *seccomp.Call) Refusal {
	r := Refusal{Kind: RefusedNetwork, Op: "connect", By: "seccomp", Rule: "network " + o.profile.Network().Mode.String()}
	family, kind, protocol := uint32(c.Args[0]), c.Args[1]&0xf, uint32(c.Args[2])
	version, ip := map[uint32]string{unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6"}[family]
	switch {
	case ip && kind == unix.SOCK_STREAM:
		r.Object = version + " TCP"
	case ip && kind == unix.SOCK_DGRAM && (protocol == unix.IPPROTO_ICMP || protocol == unix.IPPROTO_ICMPV6):
		r.Object = version + " ping"
	case ip && kind == unix.SOCK_DGRAM:
		r.Object = version + " UDP"
	case ip: // in no mode
		r.Kind, r.Op, r.Rule = RefusedSyscall, "call", "system call filter: neither TCP nor UDP"
		r.Object = fmt.Sprintf("%s socket of type %d", version, kind)
		if kind == unix.SOCK_RAW {
			r.Object = "raw " + version + " socket"
		}
	default:
		r.Kind, r.Op, r.Rule = RefusedSyscall, "call", "system call filter: "+c.Why
		r.Object = fmt.Sprintf("%s of family %d", c.Name, family)
	}
	return r
}

// connect notes an address that the profile does not grant.
func (o *observer) connect(c *seccomp.Call) {
	var buf [128]byte // sizeof(struct sockaddr_storage)
	n, err := c.Memory(c.Args[1], buf[:min(c.Args[2], uint64(len(buf)))])
	if err != nil || n < 2 {
		return
	}
	b := buf[:n]
	var addr netip.AddrPort
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_UNIX && n > 2 && b[2] != 0:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		if real, there := o.resolve(c, unix.AT_FDCWD, string(name), true); there == exists {
			o.check(profile.OpConnect, real)
			o.inLayer(profile.OpConnect, real, unix.S_IFSOCK)
		}
		return
	case family == unix.AF_INET && n >= 8:
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:]))
	case family == unix.AF_INET6 && n >= 24:
		addr = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), binary.BigEndian.Uint16(b[2:]))
	default:
		return
	}
	network := o.profile.Network()
	if a := addr.Addr(); network.Mode == profile.NetFull || network.Mode != profile.NetNone &&
		(a.IsLoopback() || a.IsUnspecified()) ||
		network.AllowsHost(a.String(), addr.Port()) {
		return
	}
	o.found.add(Refusal{Kind: RefusedNetwork, Op: "connect", Object: addr.String(), Rule: "network " +
		network.Mode.String(), By: "network namespace"})
}

// operand is one path among a call's arguments: the numbers of the arguments
// that hold the directory (-1: none) and the text, and the operation on it.
type operand struct {
	dir, path int
	op        profile.Op
}

// changes are the watched calls that change names, by manual page.
var changes = map[string][]operand{
	"truncate":  {{-1, 0, profile.OpWrite}},
	"mkdir":     {{-1, 0, profile.OpCreate}},
	"mkdirat":   {{0, 1, profile.OpCreate}},
	"rmdir":     {{-1, 0, profile.OpRemove}},
	"unlink":    {{-1, 0, profile.OpRemove}},
	"unlinkat":  {{0, 1, profile.OpRemove}},
	"rename":    {{-1, 0, profile.OpRemove}, {-1, 1, profile.OpCreate}},
	"renameat":  {{0, 1, profile.OpRemove}, {2, 3, profile.OpCreate}},
	"renameat2": {{0, 1, profile.OpRemove}, {2, 3, profile.OpCreate}},
	"symlink":   {{-1, 1, profile.OpCreate}},
	"symlinkat": {{1, 2, profile.OpCreate}},
	"link":      {{-1, 0, profile.OpLink}, {-1, 1, profile.OpCreate}},
	"linkat":    {{0, 1, profile.OpLink}, {2, 3, profile.OpCreate}},
}

func (o *observer) files(c *seccomp.Call) {
	for _, a := range changes[c.Name] {
		real, there := o.operand(c, a.dir, a.path, a.op == profile.OpWrite)
		// An entry that exists is not created, and a missing one not changed:
		// the kernel reports that, regardless of the sandbox.
		if there == exists && a.op != profile.OpCreate || there == missing && a.op == profile.OpCreate {
			o.check(a.op, real)
		}
		switch renames := strings.HasPrefix(c.Name, "rename"); {
		case there == exists && a.op == profile.OpRemove && renames:
			o.inLayer(a.op, real, unix.S_IFDIR)
			o.copiesUp("rename", a.op, real, real)
		case there == exists && a.op == profile.OpRemove, there == missing && a.op == profile.OpCreate:
			o.copiesUp(a.op.String(), a.op, real, path.Dir(real))
		case there == exists && a.op == profile.OpWrite:
			o.copiesUp(a.op.String(), a.op, real, real)
		}
	}
	dir, flags := -1, uint64(0)
	switch c.Name {
	case "open":
		flags = c.Args[1]
	case "creat":
		flags = unix.O_CREAT | unix.O_WRONLY
	case "openat":
		dir, flags = 0, c.Args[2]
	case "openat2":
		var how [16]byte // flags and mode come first in struct open_how (openat2(2))
		if n, err := c.Memory(c.Args[2], how[:]); err != nil || n < len(how) {
			return
		}
		dir, flags = 0, binary.NativeEndian.Uint64(how[:])
		if binary.NativeEndian.Uint64(how[8:])&0o6000 != 0 { // no mode is permitted but for a new file
			c.Answer, c.Why = seccomp.EPERM, "a set-ID bit"
			o.see(c)
			return
		}
	default:
		return
	}
	real, there := o.operand(c, dir, dir+1, flags&unix.O_NOFOLLOW == 0)
	switch {
	case there == missing && flags&unix.O_CREAT != 0:
		o.check(profile.OpCreate, real)
		o.copiesUp("create", profile.OpCreate, real, path.Dir(real))
	case there != exists || flags&unix.O_PATH != 0:
	case flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0:
		o.check(profile.OpWrite, real)
		o.inLayer(profile.OpWrite, real, unix.S_IFIFO)
		o.copiesUp("write", profile.OpWrite, real, real)
	default:
		o.check(profile.OpRead, real)
	}
}

// cutOff are the operations that an overlay answers otherwise than the host, by the kind of a host's entry below it.
var cutOff = map[uint32]struct{ op, rule string }{
	unix.S_IFDIR:  {"rename", "a layer can't rename a directory of the project (EXDEV)"},
	unix.S_IFIFO:  {"write", "a FIFO of the project has no reader outside of the layer"},
	unix.S_IFSOCK: {"connect", "a socket of the project has no server in a layer"},
}

// below returns the overlay that has a path below it, "" for none.
func (o *observer) below(real string) string {
	if i := slices.IndexFunc(o.layered, func(dir string) bool { return abspath.Contains(dir, real) }); i >= 0 {
		return o.layered[i]
	}
	return ""
}

// copiesUp notes an operation on a path for which an overlay copies an entry and all directories above it, where one of
// them has an owner that the sandbox's user namespace does not map. What a mode refuses is not the overlay's refusal.
func (o *observer) copiesUp(name string, op profile.Op, real, entry string) {
	top := o.below(real)
	if top == "" {
		return
	}
	for at := entry; at != top && abspath.Contains(top, at); at = path.Dir(at) {
		var st unix.Stat_t
		if unix.Lstat(at, &st) != nil || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
			continue
		}
		written := entry
		if name == "rename" {
			written = path.Dir(entry)
		}
		if !mayWrite(written) {
			return
		}
		o.found.add(Refusal{Kind: RefusedPath, Op: name, Object: real, By: ByLayer, Access: op, Path: true,
			Rule: fmt.Sprintf("a layer can't have a copy of %s of uid %d, gid %d (EOVERFLOW)", at, st.Uid, st.Gid)})
		return
	}
}

// mayWrite reports whether the mode of a path lets a process of the daemon's user without capabilities write to it.
func mayWrite(name string) bool {
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return true
	}
	groups, _ := os.Getgroups()
	switch {
	case int(st.Uid) == os.Geteuid():
		return st.Mode&0o200 != 0
	case int(st.Gid) == os.Getegid() || slices.Contains(groups, int(st.Gid)):
		return st.Mode&0o020 != 0
	}
	return st.Mode&0o002 != 0
}

// inLayer notes an operation on a host's entry of a kind below an overlay.
func (o *observer) inLayer(op profile.Op, real string, kind uint32) {
	if o.below(real) == "" {
		return
	}
	var st unix.Stat_t
	if unix.Lstat(real, &st) != nil || st.Mode&unix.S_IFMT != kind {
		return
	}
	o.found.add(Refusal{Kind: RefusedPath, Op: cutOff[kind].op, Object: real, Rule: cutOff[kind].rule, By: ByLayer,
		Access: op, Path: true})
}

// check notes op on a real path, if the profile refuses it.
func (o *observer) check(op profile.Op, real string) {
	v := o.profile.Allows(op, real)
	switch {
	case v.Allowed && v.Private && o.kept && strings.HasPrefix(real, "/tmp/"):
	case v.Allowed && v.Private && op == profile.OpCreate:
		o.unkept.created(real)
	case v.Allowed && v.Private && op == profile.OpRemove:
		o.unkept.removed(real)
	}
	if v.Allowed {
		return
	}
	rule := "no rule grants it"
	if v.Rule != (profile.Rule{}) {
		rule = v.Rule.String()
		if v.Rule.Origin != "" {
			rule += " (" + v.Rule.Origin + ")"
		}
	}
	o.found.add(Refusal{Kind: RefusedPath, Op: op.String(), Object: real, Rule: rule, By: o.by, Access: op, Path: true})
}

// presence is the result of looking up a path.
type presence uint8

const (
	unknown presence = iota
	exists
	missing // but the directory that would hold it exists
)

// operand resolves the path in argument text, relative to the
// directory in argument dir. follow: a symbolic link at its end is resolved.
func (o *observer) operand(c *seccomp.Call, dir, text int, follow bool) (string, presence) {
	n, err := c.Memory(c.Args[text], o.path[:])
	if err != nil {
		return "", unknown
	}
	name, _, ended := bytes.Cut(o.path[:n], []byte{0})
	if !ended || len(name) == 0 {
		return "", unknown
	}
	at := unix.AT_FDCWD
	if dir >= 0 {
		at = int(int32(c.Args[dir]))
	}
	return o.resolve(c, at, string(name), follow)
}

// resolve finds the real path that name has for the process that made the call.
func (o *observer) resolve(c *seccomp.Call, at int, name string, follow bool) (string, presence) {
	if !strings.HasPrefix(name, "/") {
		link := "cwd"
		if at != unix.AT_FDCWD {
			link = "fd/" + strconv.Itoa(at)
		}
		base, err := os.Readlink("/proc/" + strconv.Itoa(c.Thread) + "/" + link)
		if err != nil || !strings.HasPrefix(base, "/") || !c.Waits() {
			return "", unknown
		}
		name = base + "/" + name
	}
	if o.rootFD < 0 {
		return "", unknown
	}
	if follow {
		real, err := o.real(name)
		if err == nil {
			return real, exists
		}
		if !errors.Is(err, unix.ENOENT) {
			return "", unknown // ELOOP is also the error for links of /proc, whose end only the process sees
		}
	}
	dir, last := path.Split(strings.TrimRight(name, "/"))
	if dir == "" || last == "" || last == "." || last == ".." {
		return "", unknown
	}
	parent, err := o.real(dir)
	if err != nil {
		return "", unknown
	}
	real := path.Join(parent, last)
	var st unix.Stat_t
	switch err := unix.Fstatat(o.rootFD, strings.TrimPrefix(real, "/"), &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		return real, missing
	case err != nil || follow: // a link that leads nowhere, for us at least
		return "", unknown
	}
	return real, exists
}

// open opens a path of the sandbox's tree. A rename or mount anywhere makes the kernel give up at a ".." (openat2(2),
// EAGAIN).
func (o *observer) open(name string, how *unix.OpenHow) (fd int, err error) {
	for range 100 {
		if fd, err = unix.Openat2(o.rootFD, name, how); err != unix.EAGAIN {
			break
		}
	}
	return fd, err
}

// real resolves an absolute path in the sandbox's tree. Opening as O_PATH does
// not touch the entry.
func (o *observer) real(name string) (string, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS}
	if clean := path.Clean(name); !strings.Contains(name, "..") {
		switch fd, err := o.open(clean, &how); {
		case err == nil: // most often the name is its real path
			unix.Close(fd)
			return clean, nil
		case !errors.Is(err, unix.ELOOP):
			return "", err
		}
	}
	how.Resolve = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
	fd, err := o.open(name, &how)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(real, "/") {
		return "", unix.EINVAL // a pipe or socket
	}
	return real, nil
}
