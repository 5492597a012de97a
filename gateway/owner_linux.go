package gateway

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"sandboxd/ipc"
)

// lookUp finds the owner of the socket at remote that is connected to local.
func lookUp(local, remote net.Addr) owner {
	uid, inode, known := socketOwner(local, remote)
	if !known {
		return owner{}
	}
	o := owner{known: true, uid: uid, peer: holder(inode, uid)}
	if o.peer == nil { // it may have been closed while it was looked for
		o.uid, _, o.known = socketOwner(local, remote)
	}
	return o
}

// nobody is the user of a closed socket: its sender cannot be identified, and gets no answer.
const nobody = -1

// socketOwner asks the kernel's table of TCP sockets (proc_net_tcp in the kernel's
// documentation) whose that socket is.
func socketOwner(local, remote net.Addr) (uid int, inode string, known bool) {
	l, lok := addrPort(local)
	r, rok := addrPort(remote)
	if !lok || !rok {
		return 0, "", false
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		known = true
		lines := bufio.NewScanner(bytes.NewReader(b))
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) < 10 || !sameEnd(f[1], r) || !sameEnd(f[2], l) {
				continue
			}
			if f[9] == "0" { // without an inode; its user is always 0
				return nobody, "", true
			}
			uid, err := strconv.Atoi(f[7])
			return uid, f[9], err == nil
		}
	}
	return nobody, "", known // reset, where the table could be read
}

// bootID identifies the boot (random(4)).
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

func addrPort(a net.Addr) (netip.AddrPort, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), true
}

// sameEnd compares "0100007F:1F90" with an address: 32-bit words in the
// host's byte order.
func sameEnd(field string, a netip.AddrPort) bool {
	host, port, ok := strings.Cut(field, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	raw, err2 := hex.DecodeString(host)
	if !ok || err != nil || err2 != nil || uint16(n) != a.Port() || len(raw)%4 != 0 {
		return false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	got, ok := netip.AddrFromSlice(raw)
	return ok && got.Unmap() == a.Addr()
}

// holder finds a process of uid that has the socket open. Not every process
// lets its descriptors be read (a browser's may not); then it stays unknown.
func holder(inode string, uid int) *ipc.Peer {
	want := "socket:[" + inode + "]"
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		info, err := os.Stat("/proc/" + p.Name())
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid && uid != 0 {
			continue
		}
		fds, err := os.ReadDir("/proc/" + p.Name() + "/fd")
		if err != nil {
			continue
		}
		for _, fd := range fds {
			if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil && link == want {
				peer, err := ipc.PeerOfProcess(pid)
				if err != nil {
					return nil
				}
				return &peer
			}
		}
	}
	return nil
}
