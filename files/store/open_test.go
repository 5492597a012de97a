package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkOpen opens a store with 1,000 changes of 170 files each.
func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "state")
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		r := Record{ID: fmt.Sprint("r-", i), State: Made}
		for f := range 170 {
			r.Steps = append(r.Steps, overwrite(fmt.Sprint("/p/file", f), "old content"))
		}
		r.Contents = make([]string, len(r.Steps))
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "undo", r.ID), 0o700), s.write(r)); err != nil {
			b.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if s, err = Open(dir, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	runtime.KeepAlive(s)
}
