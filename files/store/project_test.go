package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
)

// R-LY-11: the daemon has no manifest in memory, however large the project is.
func TestSnapshotsAreNotInMemory(t *testing.T) {
	const many = 99_000
	s, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Project("/project")
	scan := func(target string) store.Scan {
		return func(
			_ *os.File, _ int64, found func([]snapshot.Entry, []*os.File) error,
		) (sum snapshot.Summary, same bool, err error) {
			batch := []snapshot.Entry{{State: files.State{Kind: files.Dir}}}
			for i := range many {
				state := files.State{Kind: files.Symlink, Target: target}
				if i == many/2 {
					state.Target = "another"
				}
				batch = append(batch, snapshot.Entry{Path: fmt.Sprintf("directory/file%06d", i), State: state})
				if len(batch) == 1000 {
					if err := found(batch, nil); err != nil {
						return sum, false, err
					}
					batch = batch[:0]
				}
			}
			return sum, false, found(batch, nil)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := p.Begin("run", scan("another")); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 2<<20 {
		t.Errorf("during a run the heap has %d bytes more", more)
	}
	if steps, _, err := p.Compare("run", "", scan("another")); err != nil || len(steps) != 0 {
		t.Errorf("%d steps, %v", len(steps), err)
	}
	p.End("run")
	runtime.GC()
	runtime.ReadMemStats(&after)
	if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 2<<20 {
		t.Errorf("after a run the heap has %d bytes more", more)
	}
	if after.TotalAlloc-before.TotalAlloc > 200<<20 {
		t.Errorf("a run took %d bytes of memory on the way", after.TotalAlloc-before.TotalAlloc)
	}
	runtime.KeepAlive(s)
}
