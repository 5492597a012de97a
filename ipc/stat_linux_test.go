package ipc

import (
	"os"
	"testing"
)

// FuzzStat: a process chooses its own name, and with it nothing else.
func FuzzStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("sh")
	f.Add(") R 1 1 1 1 1")
	f.Add("a) S (b")
	f.Add("\n)")
	rest := " S 7 8 9 34816 10 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 999 1 18446744073709551615\n"
	want := stat{ppid: 7, sid: 9, tty: 34816, start: 4242}
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := parseStat([]byte("123 (" + name + ")" + rest)); err != nil || got != want {
			t.Fatalf("%q: %+v, %v", name, got, err)
		}
		parseStat([]byte(name))
	})
	if st, err := parseStat(own); err != nil || st.ppid != os.Getppid() {
		f.Errorf("%+v, %v", st, err)
	}
}
