package layer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// New makes a layer above root in the directory dir, which must not exist, and above held layers of the root, the
// lowest first, whose upper directories the mount has between. Call it just before the mount: a later change of the
// root by somebody else is a conflict.
func New(dir string, root *os.File, held ...*Layer) (*Layer, error) {
	l := &Layer{dir: dir}
	err := l.mkdirs(int(root.Fd()), viewsOf(held))
	if err == nil {
		err = l.begin()
	}
	if err != nil {
		return nil, fmt.Errorf("new layer %q over %q: %w", dir, root.Name(), err)
	}
	return l, nil
}

// NewSpare makes the directories of a layer for a mount whose command is not known yet. Nobody reads from the mount
// before [Adopt].
func NewSpare(dir string, root *os.File) error {
	l := &Layer{dir: dir}
	if err := l.mkdirs(int(root.Fd()), nil); err != nil {
		return fmt.Errorf("new spare layer %q over %q: %w", dir, root.Name(), err)
	}
	return nil
}

// Adopt makes a layer of a spare one and its mount, as New does without them. It fails where the root's mode, owner or
// attributes changed since NewSpare, which the mount does not show.
func Adopt(dir, spare string, root *os.File) (*Layer, error) {
	l := &Layer{dir: dir}
	if err := l.adopt(int(root.Fd()), spare); err != nil {
		return nil, fmt.Errorf("adopt layer %q for %q: %w", spare, dir, err)
	}
	return l, nil
}

func (l *Layer) adopt(root int, spare string) error {
	upper, err := os.Open((&Layer{dir: spare}).Upper())
	if err != nil {
		return err
	}
	defer upper.Close()
	want, _, err := full(root, ".")
	if err != nil {
		return err
	}
	have, _, err := full(int(upper.Fd()), ".")
	if err != nil {
		return err
	}
	if !have.sameMetadata(want) {
		return errors.New("the root has other metadata meanwhile")
	}
	if have.MTime != want.MTime {
		if err := setMTime(int(upper.Fd()), want.MTime); err != nil {
			return err
		}
	}
	if err := os.Rename(spare, l.dir); err != nil {
		return err
	}
	return l.begin()
}

// mkdirs makes the layer's directories, with the metadata of the root in the upper one.
func (l *Layer) mkdirs(root int, between below) error {
	for _, name := range []string{l.dir, l.slots(), l.Upper(), l.Work()} {
		if err := os.Mkdir(name, 0o700); err != nil {
			return err
		}
		if err := unix.Removexattr(name, "system.posix_acl_default"); err != nil &&
			err != unix.ENODATA && err != unix.ENOTSUP {
			return err
		}
	}
	s, err := between.state(root, ".", ".")
	if err != nil {
		return err
	}
	upper, err := os.Open(l.Upper())
	if err != nil {
		return err
	}
	defer upper.Close()
	return dressOpened(int(upper.Fd()), s, State{Kind: Dir})
}

// begin notes the time from which on a change of the root is a conflict.
func (l *Layer) begin() (err error) {
	if l.state.Stamp, err = now(l.slots()); err != nil {
		return err
	}
	data, err := json.Marshal(l.state)
	if err != nil {
		return err
	}
	return os.WriteFile(l.stateFile(), data, 0o600) // a power cut loses what the command writes, too
}
