package differential

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
)

// A breach is a probe that succeeds exactly where a row of the published
// table is open.
type breach struct {
	row   string
	probe probe
}

// TestAloneGapTable measures every row of landlock.AloneGaps on this kernel,
// for every ABI that it can play: what is open lets the probe through, what is
// closed does not (R-OS-02).
func TestAloneGapTable(t *testing.T) {
	kernel, err := lsm.ABI()
	if err != nil {
		t.Fatal(err)
	}
	top, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	breaches, p := breachesIn(t, top)
	for abi := 1; abi <= kernel; abi++ {
		t.Run(fmt.Sprintf("ABI %d", abi), func(t *testing.T) {
			os.Remove(top + "/p/w/guarded") // of the ABI before
			r, gaps, err := landlock.Compile(p, abi, landlock.Host{FS: bwrap.HostFS(), Euid: ordinary})
			if err != nil {
				t.Fatal(err)
			}
			open := map[string]bool{}
			for _, g := range gaps {
				open[g.Protection] = true
			}
			probes := []probe{{Do: "read", Path: top + "/p/secret/f"}, {Do: "read", Path: top + "/p/open/f"}}
			for _, b := range breaches {
				probes = append(probes, b.probe)
			}
			outcomes := built{way: rulesOnly, layers: []lsm.Ruleset{r}}.run(t, probes)
			if outcomes[0].ok() || !outcomes[1].ok() {
				t.Fatalf("secret %v, open %v: the ruleset does not hold at all", outcomes[0].Errno, outcomes[1].Errno)
			}
			for i, b := range breaches {
				o := outcomes[i+2]
				if o.ok() != open[b.row] {
					t.Errorf("%s: %v: outcome %v, but open is %v", b.row, b.probe, o.Errno, open[b.row])
				}
				delete(open, b.row)
			}
			delete(open, "narrowed")
			delete(open, "private")                  // grants less, as TestDifferential sees
			delete(open, "disconnected directories") // a race of others, not of the command
			for row := range open {
				t.Errorf("no probe measures %q", row)
			}
		})
	}
}

// breachesIn makes what the probes need and the profile that they break.
func breachesIn(t *testing.T, top string) ([]breach, profile.Profile) {
	root := top + "/p"
	for _, dir := range []string{root, root + "/open", root + "/secret", root + "/w"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"/open/f", "/secret/f", "/secret/trunc", "/x"} {
		if err := os.WriteFile(root+file, []byte(canary), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, os.Link(root+"/x", root+"/secret/x"))
	program, err := os.ReadFile("/usr/bin/true")
	must(t, err)
	must(t, os.WriteFile(root+"/open/true", program, 0o755))
	w := &world{top: top, files: map[string]bool{}}
	w.listen(t, root+"/secret/sock")
	w.chown(t, ordinary)
	must(t, os.Chown(top, ordinary, ordinary))
	t.Cleanup(func() { w.close[0]() })

	abstract, err := net.Listen("unix", "@"+top)
	must(t, err)
	t.Cleanup(func() { abstract.Close() })
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { tcp.Close() })
	port := tcp.Addr().(*net.TCPAddr).Port
	sleeper := exec.Command("sleep", "600")
	sleeper.SysProcAttr = asUser(ordinary)
	must(t, sleeper.Start())
	t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	key := os.Getpid()
	shm, err := unix.SysvShmGet(key, 1, unix.IPC_CREAT|0o666)
	must(t, err)
	t.Cleanup(func() { unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })

	p, err := profile.New(profile.Spec{Rules: append(system(),
		profile.Rule{Kind: profile.Allow, Access: profile.Read, Path: root + "/open"},
		profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: root + "/w"},
		profile.Rule{Kind: profile.Protect, Path: root + "/w", Name: "guarded"},
		profile.Rule{Kind: profile.Allow, Access: profile.Read, Path: "/dev/urandom"},
		profile.Rule{Kind: profile.Allow, Access: profile.Read, Path: root + "/x"},
	)})
	must(t, err)
	return []breach{
		{"metadata", probe{Do: "chmod", Path: root + "/secret/f"}},
		{"stat", probe{Do: "stat", Path: root + "/secret/f"}},
		{"processes", probe{Do: "read", Path: "/proc/" + strconv.Itoa(sleeper.Process.Pid) + "/cmdline"}},
		{"process settings", probe{Do: "renice", Port: sleeper.Process.Pid}},
		{"ipc", probe{Do: "shared memory", Port: key}},
		{"later names", probe{Do: "create", Path: root + "/w/guarded"}},
		{"exec", probe{Do: "load", Path: root + "/open/true"}},
		{"hard links", probe{Do: "read", Path: root + "/secret/x"}},
		{"other protocols", probe{Do: "connect mptcp", Port: port}},
		{"truncate", probe{Do: "truncate", Path: root + "/secret/trunc"}},
		{"tcp", probe{Do: "connect tcp", Port: port}},
		{"ioctl", probe{Do: "device ioctl", Path: "/dev/urandom"}},
		{"abstract sockets", probe{Do: "connect abstract", Path: top}},
		{"signals", probe{Do: "signal", Port: sleeper.Process.Pid}},
		{"unix sockets", probe{Do: "connect", Path: root + "/secret/sock"}},
		{"udp", probe{Do: "send udp", Port: port}},
	}, p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
