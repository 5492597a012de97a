package profile

import (
	"cmp"
	"fmt"
	"time"
)

// Limits bounds one command's use of resources. In every field zero is unlimited; the defaults are
// [DefaultLimits].
type Limits struct {
	Wall      time.Duration // from start to the last process of the tree
	CPU       time.Duration // of one process
	Memory    int64         // bytes of the whole tree
	FileSize  int64         // bytes of one file
	TmpSize   int64         // bytes of each private directory
	LayerSize int64         // bytes of what it writes to a layer
	Output    int64         // bytes of standard output and error together
	Processes int           // processes and threads of the tree
	OpenFiles int           // descriptors of one process
}

// DefaultLimits returns the limits without a configuration: enough for a large build, small enough
// for the machine to stay usable.
func DefaultLimits() Limits {
	return Limits{
		Wall:      10 * time.Minute,
		CPU:       30 * time.Minute,
		Memory:    4 << 30,
		FileSize:  4 << 30,
		TmpSize:   2 << 30,
		LayerSize: 16 << 30,
		Output:    16 << 20,
		Processes: 512,
		OpenFiles: 4096,
	}
}

// Validate refuses negative limits.
func (l Limits) Validate() error {
	for _, f := range l.fields() {
		if f.value < 0 {
			return fmt.Errorf("%s is negative; 0 is unlimited", f.name)
		}
	}
	return nil
}

// Intersect returns the smaller limit of each.
func (l Limits) Intersect(m Limits) Limits {
	return Limits{
		Wall:      tighter(l.Wall, m.Wall),
		CPU:       tighter(l.CPU, m.CPU),
		Memory:    tighter(l.Memory, m.Memory),
		FileSize:  tighter(l.FileSize, m.FileSize),
		TmpSize:   tighter(l.TmpSize, m.TmpSize),
		LayerSize: tighter(l.LayerSize, m.LayerSize),
		Output:    tighter(l.Output, m.Output),
		Processes: tighter(l.Processes, m.Processes),
		OpenFiles: tighter(l.OpenFiles, m.OpenFiles),
	}
}

// Within reports whether no limit of l is wider than that of m.
func (l Limits) Within(m Limits) bool { return l.Intersect(m) == l }

func tighter[T cmp.Ordered](a, b T) T {
	var unlimited T
	switch {
	case a == unlimited:
		return b
	case b == unlimited:
		return a
	}
	return min(a, b)
}

type limitField struct {
	name  string
	value int64
	text  string
}

func (l Limits) fields() []limitField {
	size := func(name string, n int64) limitField { return limitField{name, n, formatSize(n)} }
	count := func(name string, n int) limitField { return limitField{name, int64(n), fmt.Sprint(n)} }
	span := func(name string, d time.Duration) limitField { return limitField{name, int64(d), d.String()} }
	return []limitField{
		span("wall", l.Wall), span("cpu", l.CPU), size("memory", l.Memory), size("file_size", l.FileSize),
		size("tmp_size", l.TmpSize), size("layer_size", l.LayerSize), size("output", l.Output),
		count("processes", l.Processes), count("open_files", l.OpenFiles),
	}
}

func formatSize(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB"}
	u := 0
	for u+1 < len(units) && n != 0 && n%1024 == 0 {
		n, u = n/1024, u+1
	}
	return fmt.Sprintf("%d%s", n, units[u])
}
