package aftermath

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A command that fills the disk must not thereby keep the entries that it planted: the trash
// reserves room to move them away and to restore the earlier ones.

const (
	reserve     = "reserve"
	reserveSize = 512 << 10
)

// Reserve sets the room aside where it is not yet. There may be none.
func Reserve(trash string) error {
	name := filepath.Join(trash, reserve)
	if _, err := os.Lstat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	room := make([]byte, reserveSize)
	rand.Read(room) // a file system may compress anything else away
	_, err = f.Write(room)
	if err == nil {
		err = f.Sync() // some file systems find out only then
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// giveRoom releases the reserve, if err says that there is no room.
func (t *trash) giveRoom(err error) bool {
	if err == nil || !strings.Contains(err.Error(), unix.ENOSPC.Error()) &&
		!strings.Contains(err.Error(), unix.EDQUOT.Error()) {
		return false // a conflict of the file tool has it in words
	}
	return os.Remove(filepath.Join(filepath.Dir(t.dir), reserve)) == nil
}
