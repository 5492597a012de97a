package lsm

import (
	"fmt"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Newest is the newest Landlock ABI whose meaning this package knows (that of
// go-landlock v0.11.0). A kernel that offers more is treated as offering this:
// a right that is not known is not handled, and so is neither granted nor lost.
const Newest = 11

// AccessFS is a set of file system rights, with the bits of the kernel:
// landlock(7) and include/uapi/linux/landlock.h, LANDLOCK_ACCESS_FS_*.
type AccessFS uint64

// The file system rights and the ABI each came with.
const (
	Execute     AccessFS = ll.AccessFSExecute     // 1: execve(2), and the interpreter it loads
	WriteFile   AccessFS = ll.AccessFSWriteFile   // 1: open(2) for writing
	ReadFile    AccessFS = ll.AccessFSReadFile    // 1: open(2) for reading
	ReadDir     AccessFS = ll.AccessFSReadDir     // 1: open(2) of a directory, to list it
	RemoveDir   AccessFS = ll.AccessFSRemoveDir   // 1: rmdir(2), rename(2) away, below the object
	RemoveFile  AccessFS = ll.AccessFSRemoveFile  // 1: unlink(2), rename(2) away, below the object
	MakeChar    AccessFS = ll.AccessFSMakeChar    // 1
	MakeDir     AccessFS = ll.AccessFSMakeDir     // 1
	MakeReg     AccessFS = ll.AccessFSMakeReg     // 1
	MakeSock    AccessFS = ll.AccessFSMakeSock    // 1: bind(2) of a pathname socket
	MakeFifo    AccessFS = ll.AccessFSMakeFifo    // 1
	MakeBlock   AccessFS = ll.AccessFSMakeBlock   // 1
	MakeSym     AccessFS = ll.AccessFSMakeSym     // 1
	Refer       AccessFS = ll.AccessFSRefer       // 2: rename(2) and link(2) to another directory; always refused before
	Truncate    AccessFS = ll.AccessFSTruncate    // 3: truncate(2), ftruncate(2), O_TRUNC; free before
	IoctlDev    AccessFS = ll.AccessFSIoctlDev    // 5: ioctl(2) on devices; free before
	ResolveUnix AccessFS = ll.AccessFSResolveUnix // 9: connect(2) to a pathname socket of another domain; free before
)

// File is the set of rights for a file that is not a directory (security/landlock/fs.c,
// ACCESS_FILE); the kernel refuses others with EINVAL.
const File = Execute | WriteFile | ReadFile | Truncate | IoctlDev | ResolveUnix

// AccessNet is a set of network rights: LANDLOCK_ACCESS_NET_*.
type AccessNet uint64

// The network rights and the ABI each came with.
const (
	BindTCP        AccessNet = ll.AccessNetBindTCP        // 4
	ConnectTCP     AccessNet = ll.AccessNetConnectTCP     // 4
	BindUDP        AccessNet = ll.AccessNetBindUDP        // 10
	ConnectSendUDP AccessNet = ll.AccessNetConnectSendUDP // 10
)

// Scope is a set of restrictions that need no rule: LANDLOCK_SCOPE_*.
type Scope uint64

// The scopes; both came with ABI 6.
const (
	AbstractUnixSocket Scope = ll.ScopeAbstractUnixSocket // no connect(2) to an abstract socket from outside the domain
	Signal             Scope = ll.ScopeSignal             // no kill(2) out of the domain
)

// Flags go to landlock_restrict_self(2): LANDLOCK_RESTRICT_SELF_LOG_*.
type Flags uint32

// The audit log flags; all came with ABI 7.
const (
	LogSameExecOff   Flags = ll.FlagRestrictSelfLogSameExecOff   // denials of this very program are not logged
	LogNewExecOn     Flags = ll.FlagRestrictSelfLogNewExecOn     // log denials of the programs that it executes
	LogSubdomainsOff Flags = ll.FlagRestrictSelfLogSubdomainsOff // denials of nested domains are not
)

// Handled is the set of rights that a kernel of one ABI can handle.
type Handled struct {
	FS     AccessFS
	Net    AccessNet
	Scoped Scope
	Flags  Flags
}

// Handles returns the rights that an ABI of 1 to [Newest] can handle.
func Handles(abi int) Handled { return abis[abi] }

// abis is indexed by version; 0 is a kernel without Landlock.
var abis = [Newest + 1]Handled{
	1:  {FS: 1<<13 - 1},
	2:  {FS: 1<<14 - 1},
	3:  {FS: 1<<15 - 1},
	4:  {FS: 1<<15 - 1, Net: 1<<2 - 1},
	5:  {FS: 1<<16 - 1, Net: 1<<2 - 1},
	6:  {FS: 1<<16 - 1, Net: 1<<2 - 1, Scoped: 1<<2 - 1},
	7:  {FS: 1<<16 - 1, Net: 1<<2 - 1, Scoped: 1<<2 - 1, Flags: 1<<3 - 1},
	8:  {FS: 1<<16 - 1, Net: 1<<2 - 1, Scoped: 1<<2 - 1, Flags: 1<<3 - 1},
	9:  {FS: 1<<17 - 1, Net: 1<<2 - 1, Scoped: 1<<2 - 1, Flags: 1<<3 - 1},
	10: {FS: 1<<17 - 1, Net: 1<<4 - 1, Scoped: 1<<2 - 1, Flags: 1<<3 - 1},
	11: {FS: 1<<17 - 1, Net: 1<<4 - 1, Scoped: 1<<2 - 1, Flags: 1<<3 - 1},
}

var (
	fsNames = []string{
		"execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file",
		"make_char", "make_dir", "make_reg", "make_sock", "make_fifo", "make_block", "make_sym",
		"refer", "truncate", "ioctl_dev", "resolve_unix",
	}
	netNames   = []string{"bind_tcp", "connect_tcp", "bind_udp", "connect_send_udp"}
	scopeNames = []string{"abstract_unix_socket", "signal"}
	flagNames  = []string{"log_same_exec_off", "log_new_exec_on", "log_subdomains_off"}
)

func (a AccessFS) String() string  { return set(uint64(a), fsNames) }
func (a AccessNet) String() string { return set(uint64(a), netNames) }
func (s Scope) String() string     { return set(uint64(s), scopeNames) }
func (f Flags) String() string     { return set(uint64(f), flagNames) }

// set prints the names of the bits, "-" for none and a number for a bit without a name.
func set(bits uint64, names []string) string {
	if bits == 0 {
		return "-"
	}
	var words []string
	for i, name := range names {
		if bits&(1<<i) != 0 {
			words = append(words, name)
			bits &^= 1 << i
		}
	}
	if bits != 0 {
		words = append(words, fmt.Sprintf("%#x", bits))
	}
	return strings.Join(words, ",")
}
