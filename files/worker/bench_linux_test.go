package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/files/filestest"
)

// fiveThousand makes a project of 5,000 files of 4 KB in 100 directories.
func fiveThousand(b testing.TB) string {
	root := filepath.Join(b.TempDir(), "project")
	content := make([]byte, 4096)
	for i := range 5000 {
		dir := filepath.Join(root, fmt.Sprintf("dir%02d", i/50))
		must(b, os.MkdirAll(dir, 0o755))
		copy(content, fmt.Sprint(i))
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.go", i%50)), content, 0o644))
	}
	time.Sleep(50 * time.Millisecond) // later than a change time that proves nothing
	return root
}

// BenchmarkSnapshot measures a snapshot of 5,000 files: the first one, one where nothing changed, and
// one where ten files did. The worker is a process of its own.
func BenchmarkSnapshot(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		root := fiveThousand(b)
		for b.Loop() {
			b.StopTimer()
			o := filestest.Options{Root: root, Store: filepath.Join(b.TempDir(), "store"), Process: true}
			bench := filestest.New(b, o)
			b.StartTimer()
			take(b, bench, 5000)
			b.StopTimer()
			bench.Stop()
			b.StartTimer()
		}
	})
	for _, changed := range []int{0, 10} {
		b.Run(fmt.Sprint(changed, " changed"), func(b *testing.B) {
			root := fiveThousand(b)
			o := filestest.Options{Root: root, Store: filepath.Join(b.TempDir(), "store"), Process: true}
			bench := filestest.New(b, o)
			take(b, bench, 5000)
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				for i := range changed {
					p := filepath.Join(root, fmt.Sprintf("dir%02d/file00.go", i))
					must(b, os.WriteFile(p, fmt.Append(nil, n, i), 0o644))
				}
				b.StartTimer()
				take(b, bench, 5000)
			}
		})
	}
}

// take takes a snapshot as a run begins with it, on disk.
func take(b testing.TB, bench *filestest.Bench, files int) {
	p := bench.Store.Project(bench.Root)
	sum, err := p.Begin("run", bench.Scan)
	must(b, err)
	if sum.Entries < files || len(sum.LeftOut) > 0 {
		b.Fatalf("%+v", sum)
	}
	p.End("run")
}

// R-LY-11: a snapshot of 5,000 files where nothing changed costs a tenth of the first one at most. BenchmarkSnapshot
// measures both.
func TestSnapshotOfNoChange(t *testing.T) {
	o := filestest.Options{Root: fiveThousand(t), Store: filepath.Join(t.TempDir(), "store"), Process: true}
	bench := filestest.New(t, o)
	last := func() time.Duration {
		begin := time.Now()
		take(t, bench, 5000)
		return time.Since(begin)
	}
	first, again := last(), last()
	for range 4 {
		again = min(again, last())
	}
	t.Logf("first %v, again %v", first, again)
	if again > first/10 {
		t.Errorf("the first snapshot takes %v, one without a change %v", first, again)
	}
}
