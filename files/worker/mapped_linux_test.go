package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
	"sandboxd/files/snapshot"
)

// TestMappedFileIsReadAgain stores through a mapping between two snapshots, which leaves the file's time of change as
// it was: the second one has the second content, and undo gives that back. Rule 22 of layers. R-LY-11.
func TestMappedFileIsReadAgain(t *testing.T) {
	b := filestest.New(t, filestest.Options{Process: true})
	name := filepath.Join(b.Root, "mapped")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	mapping, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapping) }()
	state := func() (st unix.Stat_t) {
		if err := unix.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	for try := 0; ; try++ {
		copy(mapping, "first ")
		was := state()
		time.Sleep(50 * time.Millisecond) // the change is old then
		if _, _, err := b.Run(func() { b.Write("other", "x") }); err != nil {
			t.Fatal(err)
		}
		copy(mapping, "second")
		if state().Ctim == was.Ctim {
			break
		}
		if try > 10 { // each time the page was written to the disk in between
			t.Fatal("each store changes the file's time")
		}
	}
	id, _, err := b.Run(func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.UndoRun(id, files.UndoHow{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || len(got) < 6 || string(got[:6]) != "second" {
		t.Errorf("undo gives %.6q, %v", got, err)
	}
}

// TestYoungFileIsReadAgain has a snapshot read a file within 20 ms of its change, when a second change may leave it the
// same time of change: the next snapshot reads the file again, the one after that does not. Rule 22 of layers. R-LY-11.
func TestYoungFileIsReadAgain(t *testing.T) {
	b := filestest.New(t, filestest.Options{Process: true})
	reads := func() (yes bool, end time.Time) {
		_, err := b.Store.Project(b.Root).Take(func(
			base *os.File, most int64, found func([]snapshot.Entry, []*os.File) error,
		) (sum snapshot.Summary, same bool, err error) {
			sum, same, err = b.Scan(base, most, func(list []snapshot.Entry, contents []*os.File) error {
				yes = yes || len(contents) > 0
				return found(list, contents)
			})
			end = time.Now()
			return sum, same, err
		})
		must(t, err)
		return yes, end
	}
	for try := 0; ; try++ {
		b.Write("young", fmt.Sprint(try))
		written := time.Now()
		if yes, end := reads(); !yes {
			t.Fatal("a snapshot does not read a file that changed")
		} else if end.Sub(written) < 15*time.Millisecond {
			break
		}
		if try > 200 {
			t.Fatal("each snapshot takes 15 ms")
		}
	}
	for _, want := range []bool{true, false} {
		time.Sleep(50 * time.Millisecond)
		if yes, _ := reads(); yes != want {
			t.Errorf("a later snapshot reads the file: %t, want %t", yes, want)
		}
	}
}
