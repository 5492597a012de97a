package aftermath

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSummed is how many bytes of an entry are read for its sum.
const maxSummed = 64 << 20

// Hash is that of the item's path and of names, kinds, contents and targets in the trash, by which damage is found
// before it is restored. It is "" where there are more than 64 MiB.
func (i Item) Hash() (string, error) {
	h, left, at := sha256.New(), int64(maxSummed), i.Trash
	fmt.Fprintf(h, "%q\n", i.Path)
	err := filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(at, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v\n", rel, d.Type()) // a hash does not fail
		switch {
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			fmt.Fprintf(h, "%q\n", target)
			return err
		case d.Type().IsRegular() && left >= 0:
			f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			n, err := io.Copy(h, io.LimitReader(f, left+1))
			fmt.Fprintf(h, "\n%d\n", n)
			left -= n
			return err
		}
		return nil
	})
	if err != nil || left < 0 {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
