package acceptance

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
)

// openAlone are the cases of the catalogue that Landlock alone does not hold,
// each with the row of the published table (landlock.AloneGaps) that says so. On a
// kernel whose Landlock holds what the row says, the case must not break out.
var openAlone = map[string]string{
	"es-005": "metadata", "es-006": "metadata", "es-007": "metadata", // chmod, utime, setxattr
	"es-020": "processes",
	"es-035": "signals", "es-036": "signals", // before ABI 6
	"es-040": "process settings",
	"es-048": "abstract sockets", // before ABI 6
	"es-049": "unix sockets", "es-050": "unix sockets", "es-053": "unix sockets",
}

// withheldAlone are the controls that do not work then, each with the row that
// grants less.
var withheldAlone = map[string]string{
	"es-105": "private", "es-106": "private", "es-108": "private", // nothing is granted in /tmp and /dev/shm
	"es-109": "narrowed", // .git holds protected names, so nothing can be made in it
}

// R-OS-02 R-OS-03 R-OS-12: without bubblewrap, for an ordinary user, exactly the
// cases of the published gap table break out.
func TestEscapeCatalogueByLandlockAlone(t *testing.T) {
	t.Parallel()
	abi, err := lsm.ABI()
	if err != nil {
		t.Fatal(err)
	}
	published := map[string]bool{"narrowed": true}
	for _, g := range landlock.AloneGaps(abi) {
		published[g.Protection] = true
	}
	h := escapesWith(t, ordinaryActor(t), "require_os_sandbox = [\"network\", \"syscalls\", \"privileges\"]\n")
	h.open = maps.Clone(openAlone)
	maps.Copy(h.open, withheldAlone)
	if c, err := net.Dial("unix", "/run/dbus/system_bus_socket"); err == nil { // one that everybody may connect to
		c.Close()
		h.open["es-051"] = "unix sockets"
	}
	maps.DeleteFunc(h.open, func(_, gap string) bool { return !published[gap] })
	config, err := os.ReadFile(h.config)
	if err != nil {
		t.Fatal(err)
	}
	h.begin = func() {
		cmd := h.on(withoutNamespaces(), requirement{require: "false", fallback: "fail_fast"})
		if err := os.WriteFile(h.config, config, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		h.daemon = cmd
		if !h.serves(make(chan struct{})) {
			t.Fatal("the daemon does not serve")
		}
	}
	h.begin()
	for _, c := range escapeCases(t) {
		if c.Fileop == nil { // those are the daemon's own work
			t.Run(c.ID, func(t *testing.T) { h.run(t, c) })
		}
	}
	for id, gap := range h.open {
		if !slices.Contains(h.breached, id) {
			t.Errorf("%s is said not to be held by ABI %d (%s) and is", id, abi, gap)
		}
	}
	t.Logf("ABI %d: %d cases not held or withheld: %v", abi, len(h.breached), h.breached)
}

// R-OS-02: Landlock alone runs commands only where the configuration does
// without each of the protections that it lacks.
func TestLandlockAloneIsAcceptedByName(t *testing.T) {
	t.Parallel()
	abi, err := lsm.ABI()
	if err != nil {
		t.Fatal(err)
	}
	a := ordinaryActor(t)
	host := withoutNamespaces()
	held := []string{"network", "syscalls", "privileges"}
	for _, extra := range append([]string{""}, host.user...) {
		list := held
		if extra != "" {
			list = append(slices.Clone(held), extra)
		}
		cmd := a.on(host, requirement{require: fmt.Sprintf("[\"%s\"]", strings.Join(list, `", "`)), fallback: "fail_fast"})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() { cmd.Wait(); close(exited) }()
		serves := a.serves(exited)
		said, _ := os.ReadFile(filepath.Join(a.dir, "sandboxd.log"))
		switch {
		case serves != (extra == ""):
			t.Errorf("required %q: the daemon serves: %v\n%s", list, serves, said)
		case !serves && !strings.Contains(string(said), extra+" "+heldAlone(extra, abi)):
			t.Errorf("required %q: it does not say that %s is %s:\n%s", list, extra, heldAlone(extra, abi), said)
		case serves:
			if got := a.sbx("run", "--", "git", "status", "--short"); got.code != 0 ||
				!strings.Contains(got.err, "files partial") {
				t.Errorf("accepted, and: %v", got)
			}
		}
		if serves {
			cmd.Process.Signal(os.Interrupt)
		}
		select {
		case <-exited:
		case <-time.After(patience):
			t.Error("the daemon does not end")
			cmd.Process.Kill()
		}
	}
}

// heldAlone is how far Landlock alone holds one of the protections that it lacks.
func heldAlone(protection string, abi int) string {
	if abi < 6 && (protection == "processes" || protection == "ipc") {
		return "absent" // neither signals nor abstract sockets are held
	}
	return "partial"
}

// R-OS-10: a process whose first thread has ended looks dead in every list, and goes
// on. It ends with the command that left it behind.
func TestLandlockAloneEndsWhatLooksDead(t *testing.T) {
	t.Parallel()
	a := ordinaryActor(t)
	cmd := a.on(withoutNamespaces(), requirement{require: "false", fallback: "fail_fast"})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.daemon = cmd
	if !a.serves(make(chan struct{})) {
		t.Fatal("the daemon does not serve")
	}
	a.sbx("trust", a.project)
	a.sh("mkdir sub; echo 'import ctypes, threading, time\n" +
		"def go():\n" +
		"    for n in range(600):\n" +
		"        open(\"sub/beat\", \"w\").write(str(n))\n" +
		"        time.sleep(0.1)\n" +
		"threading.Thread(target=go).start()\n" +
		"ctypes.CDLL(None).pthread_exit(None)' > stay.py")
	if got := a.sbx("run", "--timeout", "60s", "-c",
		"python3 stay.py & while [ ! -s sub/beat ]; do sleep 0.1; done"); got.code != 0 {
		t.Fatal(got)
	}
	last := a.sh("cat sub/beat")
	time.Sleep(time.Second)
	if now := a.sh("cat sub/beat"); now != last {
		t.Errorf("a process of the ended command still runs: %s, then %s", last, now)
	}
}
