package layer

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkLanding lands 1,000 changed files of 4 KB, copies and journal included. The metric "ratio" compares this
// with the same files copied by cp -a and synced, each after the other.
func BenchmarkLanding(b *testing.B) {
	fill := step{Do: "sh", Data: "for i in $(seq 1000); do head -c 4096 /dev/urandom > f$i; done"}
	var ours, copies time.Duration
	for b.Loop() {
		l := newBench(b, disk, fill)
		l.layer("run", fill)
		synced(b, "/")
		begin := time.Now()
		l.take()
		if err := l.Land(l.root, yes); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begin)
		synced(b, "/")
		begin = time.Now()
		to := filepath.Join(l.dir, "copy")
		if out, err := exec.Command("cp", "-a", l.root.Name(), to).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		synced(b, to)
		copies += time.Since(begin)
		l.close()
	}
	b.ReportMetric(float64(ours)/float64(copies), "ratio")
}

func synced(b *testing.B, name string) {
	b.Helper()
	if out, err := exec.Command("sync", "-f", name).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}
