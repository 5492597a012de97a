package bwrap

import (
	"fmt"
	"strconv"

	"sandboxd/profile"
)

// writer builds the option list.
type writer struct {
	args       []string
	size       int64
	descriptor int
}

func (w *writer) add(args ...string) { w.args = append(w.args, args...) }

func (w *writer) perms(mode uint32) { w.add("--perms", fmt.Sprintf("%04o", mode)) }

// system writes the options that do not depend on paths.
func (w *writer) system(n profile.Network, h Host) {
	w.add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if n.Mode != profile.NetFull {
		w.add("--unshare-net")
	}
	w.add("--cap-drop", "ALL", "--die-with-parent", "--clearenv")
	if !h.Terminal {
		w.add("--new-session")
	}
	w.add("--chdir", "/")
}

// mount writes one mount.
func (w *writer) mount(m *Mount) {
	switch m.Form {
	case Directory:
		if m.Path != "/" {
			w.perms(m.Mode)
			w.add("--dir", m.Path)
		}
	case ReadOnly:
		w.add("--ro-bind", m.Path, m.Path)
	case Writable, Pin:
		w.add("--bind", m.Path, m.Path)
	case Device:
		w.add("--dev-bind", m.Path, m.Path)
	case Link:
		w.add("--symlink", m.Target, m.Path)
	case Private:
		if m.Path == "/" {
			return // bwrap's own root
		}
		w.perms(0o700)
		if w.size > 0 {
			w.add("--size", strconv.FormatInt(w.size, 10))
		}
		w.add("--tmpfs", m.Path)
	case Empty:
		w.perms(0o555)
		w.add("--tmpfs", m.Path)
	case HiddenDirectory:
		w.perms(m.Mode)
		w.add("--tmpfs", m.Path)
	case EmptyFile, HiddenFile:
		w.perms(map[Form]uint32{EmptyFile: 0o444, HiddenFile: 0}[m.Form])
		w.add("--ro-bind-data", strconv.Itoa(w.descriptor), m.Path)
		w.descriptor++
	case Proc:
		w.add("--proc", m.Path)
	case Dev:
		w.add("--dev", m.Path)
	}
}

// seal closes the directories that were open only for the mounts in them.
func (w *writer) seal(layout []*Mount) {
	for i := len(layout) - 1; i >= 0; i-- {
		m := layout[i]
		switch m.Form {
		case Dev:
			w.add("--chmod", fmt.Sprintf("%04o", m.Mode), m.Path, "--remount-ro", m.Path)
		case Empty, HiddenDirectory:
			w.add("--remount-ro", m.Path)
		case Proc:
			if !m.view.access.Has(profile.Write) {
				w.add("--remount-ro", m.Path)
			}
		case Directory:
			if m.Path == "/" {
				w.add("--chmod", fmt.Sprintf("%04o", m.Mode), "/", "--remount-ro", "/")
			}
		}
	}
}

// Encode joins arguments as bwrap's --args descriptor wants them, each ended
// by a NUL.
func Encode(args []string) []byte {
	var b []byte
	for _, arg := range args {
		b = append(append(b, arg...), 0)
	}
	return b
}
