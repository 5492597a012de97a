package acceptance

import (
	"os"
	"strings"
	"testing"
)

// A device belongs to root, and root's sandbox is root's: a command can use the
// machine's devices, but change them neither by a path nor by a descriptor. R-OS-02
func TestDevicesOfTheMachine(t *testing.T) {
	t.Parallel()
	devices := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		before := map[string]os.FileInfo{}
		for _, d := range devices {
			info, err := os.Stat(d)
			if err != nil {
				t.Fatal(err)
			}
			before[d] = info
			t.Cleanup(func() { os.Chmod(d, info.Mode().Perm()) })
		}
		list := strings.Join(devices, " ")
		for range 2 { // the second sandbox may have waited
			r := a.sbx("run", "-c", "chmod 640 "+list+"; touch -d 2001-01-01 "+list+
				"; chmod 640 /dev/stdin /proc/self/fd/0; echo x > /dev/null && cat /dev/stdin && head -c 3 /dev/zero | wc -c")
			if r.code != 0 || strings.TrimSpace(r.out) != "3" {
				t.Errorf("devices can't be used: %v", r)
			}
		}
		for _, d := range devices {
			if info, err := os.Stat(d); err != nil || info.Mode() != before[d].Mode() || info.ModTime().Year() == 2001 {
				t.Errorf("%s was changed: %v, %v", d, info.Mode(), err)
			}
		}
	})
}
