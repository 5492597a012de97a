package tree

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountID names a mount of this namespace (statx(2), STATX_MNT_ID). An open
// file keeps its mount, so that the number means it as long as it is open.
type mountID struct {
	id     uint64
	device uint64 // where the kernel does not report the id
}

func mountOf(fd int) (mountID, error) {
	var st unix.Statx_t
	err := ignoringEINTR(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	})
	if err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		return mountID{id: st.Mnt_id}, nil
	}
	if err != nil && err != unix.ENOSYS && err != unix.EPERM {
		return mountID{}, err
	}
	s, err := fstat(fd)
	return mountID{device: s.Device}, err
}

// checkMount refuses a file on a mount other than the tree's own, unless the mount shows the same
// entry as the tree without it.
func (t *Tree) checkMount(fd int) error {
	m, err := mountOf(fd)
	if err != nil {
		return err
	}
	if m == t.mount {
		return nil
	}
	if m.id == 0 || t.mount.id == 0 {
		return errMount
	}
	table, err := readMounts()
	if err != nil {
		return fmt.Errorf("%w (%v)", errMount, err)
	}
	if table.same(m.id, t.mount.id) {
		return nil
	}
	return errMount
}

// mountEntry is one line of mountinfo (proc_pid_mountinfo(5)).
type mountEntry struct {
	device string // major:minor
	root   string // the mounted path of the file system
	point  string // where
}

type mountTable map[uint64]mountEntry

// same reports whether mount a shows the same entries at its place as mount b would: the same file
// system, at the corresponding path.
func (m mountTable) same(a, b uint64) bool {
	x, okX := m[a]
	y, okY := m[b]
	if !okX || !okY || x.device != y.device {
		return false
	}
	rest, below := strings.CutPrefix(x.point, strings.TrimSuffix(y.point, "/")+"/")
	return below && x.root == path.Join(y.root, rest)
}

func readMounts() (mountTable, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table := mountTable{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			continue
		}
		table[id] = mountEntry{device: fields[2], root: unescape(fields[3]), point: unescape(fields[4])}
	}
	return table, lines.Err()
}

// unescape undoes the octal escapes of mountinfo (blank, tab, newline, backslash).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
