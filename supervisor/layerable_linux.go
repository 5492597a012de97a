package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
	"sandboxd/layer"
	"sandboxd/sandbox"
)

// layerable returns why a run of the session can't have a layer on this host; "" where it can.
func (s *Supervisor) layerable(sess *Session) string {
	if s.layers == "" {
		return "the daemon has no directory for layers"
	}
	if reason := s.Host.Overlays(); reason != "" {
		return reason
	}
	root, err := openRoot(sess.Root)
	if err != nil {
		return err.Error()
	}
	defer root.Close()
	key, err := s.keyOf(root)
	if err != nil {
		return err.Error()
	}
	if reason, ok := s.reasons.get(key); ok {
		return cmp.Or(reason, s.mountable(key))
	}
	// A sandbox has no capability, and its user namespace maps the daemon's user alone.
	own := func(uid, gid uint32) bool { return int(uid) == os.Geteuid() && int(gid) == os.Getegid() }
	reason, err := layer.Reason(root, s.layers, own)
	if err != nil {
		return err.Error()
	}
	s.reasons.put(key, reason)
	return cmp.Or(reason, s.mountable(key))
}

// mountable returns why an overlay of a root can't be mounted, as a first try showed; "" where it can.
func (s *Supervisor) mountable(key rootKey) string {
	key.ctime = 0 // its entries do not matter
	if reason, ok := s.mounted.get(key); ok {
		return reason
	}
	err := s.Host.TryOverlay(key.path, spares{s.layers, key.path}, nil)
	if refused := (*sandbox.OverlayError)(nil); errors.As(err, &refused) {
		return s.notMountable(key, refused)
	}
	if err == nil {
		s.mounted.put(key, "")
	}
	return "" // where a sandbox can't be started, the command's own start says so
}

// notMountable remembers that an overlay of a root can't be mounted, and returns why.
func (s *Supervisor) notMountable(key rootKey, refused *sandbox.OverlayError) (reason string) {
	key.ctime = 0
	reason = fmt.Sprintf("%v (%s)", refused, refused.Remedy())
	s.mounted.put(key, reason)
	return reason
}

// unmounted reports whether a run did not start as an overlay of its project could not be mounted, which the session's
// next runs know.
func (s *Supervisor) unmounted(e *Exec, err error) bool {
	var refused *sandbox.OverlayError
	if !errors.As(err, &refused) {
		return false
	}
	root, err := openRoot(e.Session.Root)
	if err != nil {
		return false
	}
	defer root.Close()
	key, err := s.keyOf(root)
	if err == nil {
		s.notMountable(key, refused)
	}
	return err == nil
}

// probeLayers makes the directory of layers, and has the host's report say whether there can be some.
func (s *Supervisor) probeLayers() error {
	if s.layers == "" {
		return nil
	}
	if err := os.MkdirAll(s.layers, 0o700); err != nil {
		return fmt.Errorf("make the directory of layers: %w", err)
	}
	s.Host.ProbeOverlays(func() error {
		lower, err := os.MkdirTemp(s.layers, spare)
		if err != nil {
			return err
		}
		defer func() { _ = modes.RemoveAll(lower) }() // else the next daemon does
		if err := os.WriteFile(filepath.Join(lower, "old"), []byte("old"), 0o600); err != nil {
			return err
		}
		return s.Host.TryOverlay(lower, spares{s.layers, lower}, change)
	})
	return nil
}

// change changes the file of a directory, and creates another.
func change(top *os.File) error {
	for _, name := range []string{"old", "new"} {
		fd, err := unix.Openat(int(top.Fd()), name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return &os.PathError{Op: "change", Path: name, Err: err}
		}
		_, err = unix.Write(fd, []byte("changed"))
		if unix.Close(fd); err != nil {
			return &os.PathError{Op: "write", Path: name, Err: err}
		}
	}
	return nil
}

// spare begins the names of layers that no run has.
const spare = "spare-"

// keyOf is the present key of a root.
func (s *Supervisor) keyOf(root *os.File) (k rootKey, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(root.Fd()), &st); err != nil {
		return k, os.NewSyscallError("fstat", err)
	}
	mounts, err := s.Host.Mounts()
	return rootKey{root.Name(), st.Dev, st.Ino, st.Ctim.Nano(), mounts}, err
}

// spares are the layers of sandboxes that wait for a session's commands.
type spares struct{ layers, root string }

func (s *Supervisor) spares(sess *Session) sandbox.Spares { return spares{s.layers, sess.Root} }

func (p spares) Make() (dir string, err error) {
	root, err := openRoot(p.root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	dir = filepath.Join(p.layers, spare+ulid.Make().String())
	if err = layer.NewSpare(dir, root); err != nil {
		p.Drop(dir)
	}
	return dir, err
}

// Drop deletes a spare layer; the next daemon deletes it where that fails.
func (spares) Drop(dir string) { _ = modes.RemoveAll(dir) }
