package acceptance

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// buildPackages builds the packages of this source into dir.
func buildPackages(t *testing.T, source, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "packaging/package.sh", dir)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "SOURCE_DATE_EPOCH=1767225600")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("make packages: %v\n%s", err, out)
	}
}

// copySource copies what a clone would have.
func copySource(t *testing.T, to string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - | tar -C "+to+" -xf -")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copy the source: %v\n%s", err, out)
	}
}

func sum(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// R-OP-01 R-OP-02 R-OP-03 R-OP-04 R-OP-05: the package on a Debian 12 with a real first process.
func TestOnSystemd(t *testing.T) {
	t.Parallel()
	// - Row 001-86 yes (rules): each user has a daemon and rules of its own, approvers answer for all
	// - Row card-13 yes (units): hosts that systemd manages
	dir := t.TempDir()
	first := filepath.Join(dir, "first")
	if err := os.Mkdir(first, 0o755); err != nil {
		t.Fatal(err)
	}
	var building sync.WaitGroup
	building.Go(func() { buildPackages(t, "..", first) })
	defer building.Wait()
	if os.Geteuid() != 0 {
		building.Wait()
		t.Run("packages", func(t *testing.T) { packages(t, first, filepath.Join(dir, "another-place")) })
		t.Log("left out: only root can boot a machine; CI runs this as root")
		return
	}
	m := bootMachine(t, first)
	building.Wait()
	if t.Failed() {
		return
	}
	var looking sync.WaitGroup
	looking.Go(func() {
		t.Run("packages", func(t *testing.T) { packages(t, first, filepath.Join(dir, "another-place")) })
	})
	defer looking.Wait()
	machineSteps(t, m)
}

// packages looks at what was built into the folder first, and builds it again
// from a copy of the source below other.
func packages(t *testing.T, first, other string) {
	source, second := filepath.Join(other, "source"), filepath.Join(other, "packages")
	if err := os.MkdirAll(source, 0o755); err != nil {
		t.Fatal(err)
	}
	copySource(t, source)
	buildPackages(t, source, second)
	files, _ := filepath.Glob(filepath.Join(first, "*"))
	if len(files) != 2 {
		t.Errorf("%v", files)
	}
	for _, f := range files {
		if a, b := sum(t, f), sum(t, filepath.Join(second, filepath.Base(f))); a != b {
			t.Errorf("%s differs between two folders: %s %s", filepath.Base(f), a, b)
		}
	}
	// Parsers before 4.0 know neither the rule nor the ABI that has it, nor do
	// their kernels need it.
	const apparmor = `if apparmor_parser --version | grep -q 'version [123]\.'; then grep -vE '^abi|userns,' ../packaging/apparmor/sandboxd; else cat ../packaging/apparmor/sandboxd; fi |
		apparmor_parser --debug --skip-kernel-load --skip-cache > /dev/null`

	for _, lint := range []string{
		"lintian --allow-root --fail-on error " + first + "/*.deb",
		rpmlint(t, first),
		"dpkg-deb -x " + first + "/*.deb " + other + "/x && gunzip -r " + other + "/x/usr/share/man && mandoc -Tlint -W warning " + other + "/x/usr/share/man/man*/*",
		apparmor,
		`python3 -c 'import plistlib; assert plistlib.load(open("../packaging/launchd/sandboxd.plist", "rb"), fmt=plistlib.FMT_XML)["Label"] == "sandboxd"'`,
	} {
		if out, err := exec.Command("sh", "-c", lint).CombinedOutput(); err != nil || strings.Contains(string(out), " E: ") {
			t.Errorf("%s: %v\n%s", lint, err, out)
		}
	}
}

// machineSteps is an administrator's life with the package, each step on what
// the one before left.
func machineSteps(t *testing.T, m *machine) {
	if r := m.sh("dpkg -i /pkg/*.deb 2>&1"); r.code != 0 {
		t.Fatalf("install: %s", r)
	}
	m.must("root", "useradd -m -s /bin/bash -G sandboxd-agents alice; useradd -m -s /bin/bash -G sandboxd-agents bob; useradd -m -s /bin/bash -G sandboxd-approvers carol; useradd -m -s /bin/bash mallory")
	m.must("root", "loginctl enable-linger alice && loginctl enable-linger bob")
	for _, user := range []string{"alice", "bob"} {
		m.must(user, "mkdir project && cd project && git init -q && echo "+user+"s > mine")
		uid := m.must(user, "id -u")
		m.until("the launcher's socket of "+user+" is there", func() bool { return m.sh("test -S /run/sandboxd/users/"+uid+"/launcher.sock").code == 0 })
	}

	for _, step := range []struct {
		name string
		f    func(*testing.T, *machine)
	}{
		{"units", machineUnits}, {"activation", machineActivation}, {"users", machineUsers}, {"approver", machineApprover}, {"rules", machineRules}, {"watchdog", machineWatchdog},
		{"reload", machineReload}, {"log", machineLog}, {"upgrade", machineUpgrade}, {"metrics", machineMetrics}, {"stop", machineStop}, {"without a broker", machineOthers}, {"remove", machineRemove},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			was := m.t
			m.t = t
			defer func() { m.t = was }()
			step.f(t, m)
		}) {
			t.Logf("%s", m.sh("journalctl --no-pager -n 80").out)
			return // what follows builds on it
		}
	}
}

func machineUnits(t *testing.T, m *machine) {
	r := m.sh("cd /usr/lib/systemd/system && systemd-analyze verify --man=no sandboxd.service sandboxd.socket sandboxd-approver.socket sandboxd-heads.socket sandboxd-metrics.socket sandboxd-launcher@1000.socket sandboxd-launcher@1000.service 2>&1")
	if r.code != 0 || r.out != "" {
		t.Errorf("verify: %s", r)
	}
	r = m.as("alice", "cd /usr/lib/systemd/user && systemd-analyze --user verify --man=no sandboxd.service sandboxd.socket sandboxd-approver.socket sandboxd-launcher.service sandboxd-launcher.socket 2>&1")
	if r.code != 0 || r.out != "" {
		t.Errorf("verify of the user's: %s", r)
	}
	if r := m.sh("systemd-analyze security --no-pager --threshold=5 sandboxd.service 2>&1 | tail -n 1; exec systemd-analyze security --no-pager --threshold=5 sandboxd.service >/dev/null 2>&1"); r.code != 0 {
		t.Errorf("security: %s", r)
	} else {
		t.Log(r.out)
	}
	for _, page := range []string{"man8/sandboxd.8.gz", "man1/sbx.1.gz", "man5/sandboxd.toml.5.gz", "man5/sandboxd-profile.5.gz"} {
		// The tree has no manual pages (a minimal one leaves them out); the package has.
		if r := m.sh("dpkg-deb -c /pkg/*.deb | grep -q " + page); r.code != 0 {
			t.Errorf("no %s in the package", page)
		}
	}
	if r := m.sh("journalctl --catalog --dump-catalog 2>/dev/null | grep -c 'Defined-By: sandboxd'"); r.out != "4" {
		t.Errorf("catalog: %s", r)
	}
}

func machineActivation(t *testing.T, m *machine) {
	if r := m.sh("systemctl is-active sandboxd.service"); r.out != "inactive" {
		t.Fatalf("it runs before anybody asks: %s", r)
	}
	if out := m.must("alice", "cd project && sbx run -- cat mine"); out != "alices" {
		t.Errorf("%q", out)
	}
	if r := m.sh("systemctl is-active sandboxd.service"); r.out != "active" {
		t.Errorf("%s", r)
	}
	// The broker has no capability, forks nothing and is not root.
	status := m.must("root", "cat /proc/$(systemctl show -p MainPID --value sandboxd)/status")
	for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(status, want) {
			t.Errorf("the broker's status has no %q", want)
		}
	}
	if r := m.sh("journalctl --no-pager -u sandboxd.service | grep -i landlock"); r.out != "" {
		t.Errorf("the broker is not restricted: %s", r)
	}
	if n := m.must("root", "cat /sys/fs/cgroup/systemd/system.slice/sandboxd.service/cgroup.procs | wc -l"); n != "1" {
		t.Errorf("the broker has %s processes", n)
	}
	if r := m.sh("find / -xdev -perm /6000 -newer /etc/hostname -path '*s*x*' 2>/dev/null | grep -E 'sbx|sandboxd'"); r.out != "" {
		t.Errorf("setuid: %s", r)
	}
	// Each user's daemon is in that user's service manager.
	if out := m.must("root", "cat /proc/$(pgrep -u alice -x sandboxd)/cgroup"); !strings.Contains(out, "user@1000.service/app.slice/sandboxd-launcher.service") {
		t.Errorf("%s", out)
	}
}

func machineUsers(t *testing.T, m *machine) {
	for _, user := range []string{"alice", "bob"} {
		if out := m.must(user, "cd project && sbx run -- id -un"); out != user {
			t.Errorf("%s runs as %q", user, out)
		}
	}
	// Neither sees the other's files, sessions, records or questions.
	for _, attempt := range []string{
		"sbx --user alice pending", "sbx --user alice log",
		"sbx --socket-dir /run/sandboxd/users/1000 status", "cat /home/alice/.local/state/sandboxd/audit/00000001.jsonl",
	} {
		if r := m.as("bob", attempt+" < /dev/null"); r.code == 0 || strings.Contains(r.out, "alice") {
			t.Errorf("bob: %s: %s", attempt, r)
		}
	}
	// Approved by somebody who may, it still runs as bob and in bob's sandbox.
	wait := m.started("bob", "cd project && sbx run -- cat /home/alice/project/mine < /dev/null")
	if r := m.as("carol", "sbx --user bob approve "+m.pending("carol", "bob")+" --allow --scope once"); r.code != 0 {
		t.Errorf("carol: %s", r)
	}
	if r := wait(); r.code == 0 || r.out != "" {
		t.Errorf("bob reads what is alice's: %s", r)
	}
	if r := m.as("bob", "sbx --user alice pending"); !strings.Contains(r.err, "members of sandboxd-approvers may answer") {
		t.Errorf("the error does not name the group of the approvers: %s", r)
	}
	for _, socket := range []string{"agent.sock", "approver.sock"} {
		if r := m.as("mallory", `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "/run/sandboxd/`+socket+`") ? print "open" : print $!'`); r.out != "Permission denied" {
			t.Errorf("mallory, who is in no group, at %s: %s", socket, r)
		}
	}
	// The launcher takes nothing from anybody but the broker.
	m.as("bob", `perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => "/run/sandboxd/users/1000/launcher.sock") or die; print $s "s"; $s->flush; print scalar <$s>'`)
	if out := m.must("alice", "cd project && sbx run -- id -un"); out != "alice" {
		t.Errorf("%q", out)
	}
	m.until("alice's daemon says that it took nothing", func() bool {
		return m.sh("journalctl --no-pager _UID=1000 | grep 'is not the broker'").code == 0
	})
}

func machineWatchdog(t *testing.T, m *machine) {
	m.must("root", "mkdir -p /run/systemd/system/sandboxd.service.d /etc/systemd/user/sandboxd-launcher.service.d && printf '[Service]\nWatchdogSec=3\n' | tee /run/systemd/system/sandboxd.service.d/w.conf > /etc/systemd/user/sandboxd-launcher.service.d/w.conf && systemctl daemon-reload && systemctl restart sandboxd.service")
	m.must("root", "XDG_RUNTIME_DIR=/run/user/1000 runuser -u alice -- systemctl --user daemon-reload && XDG_RUNTIME_DIR=/run/user/1000 runuser -u alice -- systemctl --user restart sandboxd-launcher.service")
	wait := m.started("alice", "cd project && sbx run -c 'id -un > second.txt' < /dev/null")
	id := m.pending("carol", "alice")

	// The broker's main loop hangs: the watchdog kills and restarts the broker, and
	// the pending question is not lost.
	before := m.must("root", "systemctl show -p MainPID --value sandboxd.service")
	m.must("root", "kill -STOP "+before)
	m.until("the broker is started again", func() bool {
		now := m.sh("systemctl show -p MainPID,ActiveState --value sandboxd.service").out
		return strings.Contains(now, "active") && !strings.Contains(now, "activating") && !strings.Contains(now, "deactivating") && !strings.HasPrefix(now, before+"\n") && !strings.HasPrefix(now, "0\n")
	})
	if r := m.sh("journalctl --no-pager -u sandboxd.service | grep -i watchdog"); r.code != 0 {
		t.Errorf("not by the watchdog: %s", r)
	}
	if r := m.as("carol", "sbx --user alice approve "+id+" --allow --scope session"); r.code != 0 {
		t.Errorf("carol: %s", r)
	}
	if r := wait(); r.code != 0 {
		t.Errorf("the command: %s", r)
	}

	// A user's daemon: killed, started at the next request, nothing on record lost.
	head := m.must("alice", "sbx log -n 1 --json")
	pid := m.must("root", "pgrep -o -u alice -x sandboxd")
	m.must("root", "kill -STOP "+pid)
	m.until("alice's daemon is another one", func() bool { return m.sh("kill -0 "+pid).code != 0 })
	if out := m.must("alice", "cd project && sbx run -- cat second.txt"); out != "alice" {
		t.Errorf("%q", out)
	}
	if r := m.as("alice", "sbx log verify"); r.code != 0 {
		t.Errorf("%s", r)
	}
	if all := m.must("alice", "sbx log export -"); !strings.Contains(all, head) {
		t.Errorf("the record before the watchdog is lost: %s", head)
	}
}

func machineReload(t *testing.T, m *machine) {
	m.must("alice", "cd project && sbx run -- true")
	m.must("root", "cp /etc/sandboxd/config.toml /root/config.toml && printf '[shell]\n[[shell.rules]]\npattern = \"uname *\"\nallowed = false\n' >> /etc/sandboxd/config.toml && systemctl reload sandboxd.service")
	m.until("the good file is in force", func() bool {
		r := m.as("alice", "cd project && sbx run -- uname -r < /dev/null")
		return r.code == 126
	})
	m.must("root", "printf 'pattern = \n[nonsense\n' >> /etc/sandboxd/config.toml && systemctl reload sandboxd.service")
	m.until("the status says why the broken file is not in force", func() bool {
		return strings.Contains(m.as("carol", "sbx --user alice status 2>&1").out, "the last reload was refused")
	})
	if r := m.as("alice", "cd project && sbx run -- uname -r < /dev/null"); r.code != 126 {
		t.Errorf("the old configuration is not in force: %s", r)
	}
	// The start of a daemon with the broken file fails, which the client reports. The
	// next request starts the daemon again.
	m.must("root", "cp /etc/sandboxd/config.toml /root/broken.toml; XDG_RUNTIME_DIR=/run/user/1001 runuser -u bob -- systemctl --user stop sandboxd-launcher.service")
	for range 3 {
		if r := m.as("carol", "sbx --user bob pending"); r.code == 0 || !strings.Contains(r.err, "sandboxd does not start: ") {
			t.Errorf("started with a broken file: %s", r)
		}
	}
	if r := m.sh("systemctl show -p StatusText --value sandboxd.service"); !strings.Contains(r.out, "the old configuration is in force") {
		t.Errorf("the broker's status: %s", r)
	}
	m.must("root", "cp /root/config.toml /etc/sandboxd/config.toml && systemctl reload sandboxd.service")
	m.until("bob's daemon starts with the mended file", func() bool { return m.as("carol", "sbx --user bob pending").code == 0 })
	m.until("the old file is in force again", func() bool { return m.as("alice", "cd project && sbx run -- uname -r < /dev/null").code == 0 })
	if r := m.as("carol", "sbx --user alice status 2>&1"); strings.Contains(r.out, "refused") {
		t.Errorf("%s", r)
	}
}

// R-AU-02: the broker keeps the head of each log where its user cannot write.
func machineLog(t *testing.T, m *machine) {
	m.must("alice", "cd project && sbx run -- true")
	m.until("the broker has the head", func() bool {
		return m.as("alice", `test "$(tail -n 1 /var/lib/sandboxd/heads/1000 | sed 's/.* //; s/:.*//')" = "$(sbx log verify | sed -n 's/^anchor: \([0-9]*\):.*/\1/p')"`).code == 0
	})
	if r := m.as("alice", "echo forged >> /var/lib/sandboxd/heads/1000"); r.code == 0 {
		t.Error("alice can write the broker's copy")
	}
	machineKey(t, m)
	m.must("root", "XDG_RUNTIME_DIR=/run/user/1000 runuser -u alice -- systemctl --user stop sandboxd-launcher.service")
	m.must("alice", "cd .local/state/sandboxd/audit && f=$(ls *.jsonl | tail -n 1) && cp $f /tmp/whole && sed -i '$d' $f")
	const verify = "sbx log verify --dir .local/state/sandboxd/audit --anchors /var/lib/sandboxd/heads/1000" // starts no daemon
	if r := m.as("alice", verify); r.code != 1 || !strings.Contains(r.out, "tail was cut off") {
		t.Errorf("a cut tail: %s", r)
	}
	m.must("alice", "cd .local/state/sandboxd/audit && cat /tmp/whole > $(ls *.jsonl | tail -n 1)")
	if r := m.as("alice", verify); r.code != 0 {
		t.Errorf("%s", r)
	}
}

// machineKey: the broker signs the heads with the key that the service manager
// passes it, so that a copy of them holds in other hands, and what alice writes
// herself does not.
// R-OP-01, R-AU-02
func machineKey(t *testing.T, m *machine) {
	if out := m.must("root", "stat -c '%a %U' /etc/credstore /etc/credstore/sandboxd.heads-key"); out != "700 root\n600 root" {
		t.Errorf("%s", out)
	}
	for _, name := range []string{"/etc/credstore/sandboxd.heads-key", "/run/credentials/sandboxd.service/sandboxd.heads-key"} {
		if r := m.as("alice", "cat "+name); r.code == 0 {
			t.Errorf("alice reads %s", name)
		}
	}
	const verify = "cd copy && sbx log verify --dir log --key key.pub --anchors "
	m.must("alice", "mkdir -p copy/log && cd copy && cp /var/lib/sandboxd/heads/1000 heads && cp /var/lib/sandboxd/heads/key.pub . && sbx log export log/00000001.jsonl")
	if r := m.as("alice", verify+"heads"); r.code != 0 || !strings.Contains(r.out, "OK: ") {
		t.Errorf("copies: %s", r)
	}
	// A shorter log with heads to match: her own are not taken, and the broker's show it.
	m.must("alice", "cd copy && sed -i '$d' log/00000001.jsonl && sbx log anchor --dir log own")
	if r := m.as("alice", verify+"own"); r.code == 0 || !strings.Contains(r.err, "no line of own is signed by that key") {
		t.Errorf("alice's own anchors: %s", r)
	}
	m.must("alice", "cd copy && sed -i '3,$d' log/00000001.jsonl")
	if r := m.as("alice", verify+"heads"); r.code != 1 || !strings.Contains(r.out, "tail was cut off") {
		t.Errorf("a cut copy: %s", r)
	}
}

func machineUpgrade(t *testing.T, m *machine) {
	m.must("root", "echo '# changed by the administrator' >> /etc/sandboxd/config.toml")
	wait := m.started("alice", "cd project && sbx run -c 'i=0; while [ $i -lt 600 ] && [ ! -e go-on ]; do i=$((i+1)); sleep 0.2; done; echo upgraded-around' < /dev/null")
	id := m.pending("carol", "alice")
	m.must("carol", "sbx --user alice approve "+id+" --allow --scope once")
	m.until("it runs", func() bool {
		return m.as("alice", "sbx log -n 1").code == 0 && m.sh("pgrep -u alice -x sandboxd-launch || pgrep -u alice -f upgraded-around").code == 0
	})
	broker := m.must("root", "systemctl show -p MainPID --value sandboxd.service")
	if r := m.sh("dpkg -i --force-confold /pkg/*.deb 2>&1"); r.code != 0 {
		t.Fatalf("upgrade: %s", r)
	}
	if now := m.must("root", "systemctl show -p MainPID --value sandboxd.service"); now == broker || now == "0" {
		t.Errorf("the broker is the old one: %s", now)
	}
	m.must("alice", "touch project/go-on")
	if r := wait(); r.code != 0 || r.out != "upgraded-around" {
		t.Errorf("the command that ran: %s", r)
	}
	if r := m.sh("grep -q 'changed by the administrator' /etc/sandboxd/config.toml"); r.code != 0 {
		t.Error("the administrator's change is lost")
	}
}

// R-OP-04: numbers on a socket of their own.
func machineMetrics(t *testing.T, m *machine) {
	m.must("root", "systemctl stop sandboxd.service && systemctl start sandboxd-metrics.socket")
	out := m.must("root", "curl -sS --max-time 20 --unix-socket /run/sandboxd/metrics.sock http://x/metrics")
	if !strings.Contains(out, "sandboxd_broker_handed_total") {
		t.Errorf("%s", out)
	}
	if out := m.must("alice", "cd project && sbx run -- id -un"); out != "alice" {
		t.Errorf("%q", out)
	}
}

// R-OP-03: a planned stop lets a command end, and says so meanwhile.
func machineStop(t *testing.T, m *machine) {
	m.must("root", "printf '\n[daemon]\ndrain_timeout = \"60s\"\n' >> /etc/sandboxd/config.toml && systemctl reload sandboxd.service")
	m.must("alice", "rm -f project/go-on; cd project && sbx run -- true")
	wait := m.started("alice", "cd project && sbx run -c 'i=0; while [ $i -lt 600 ] && [ ! -e go-on ]; do i=$((i+1)); sleep 0.2; done; echo drained' < /dev/null")
	id := m.pending("carol", "alice")
	m.must("carol", "sbx --user alice approve "+id+" --allow --scope once")
	m.until("it runs", func() bool {
		return m.sh("pgrep -u alice -f 'echo drained' && pgrep -u alice 'bwrap|sandboxd-l'").code == 0
	})
	stopped := m.started("root", "XDG_RUNTIME_DIR=/run/user/1000 runuser -u alice -- systemctl --user stop sandboxd-launcher.service")
	m.until("it says that it stops", func() bool {
		return strings.Contains(m.sh("XDG_RUNTIME_DIR=/run/user/1000 runuser -u alice -- systemctl --user show -p SubState,StatusText sandboxd-launcher.service").out, "stopping:")
	})
	m.must("alice", "touch project/go-on")
	if r := wait(); r.code != 0 || r.out != "drained" {
		t.Errorf("the command: %s", r)
	}
	if r := stopped(); r.code != 0 {
		t.Errorf("stop: %s", r)
	}
	if r := m.as("alice", "sbx log verify"); r.code != 0 {
		t.Errorf("%s", r)
	}
}

// R-OP-01: an account without a service manager of its own has a daemon by the
// template; a user whom the broker doesn't serve by the pair of user units.
func machineOthers(t *testing.T, m *machine) {
	m.must("root", "ln -s /srv /people && useradd -r -m -d /people/robot -s /bin/bash -G sandboxd-agents robot") // a home that a symbolic link leads to
	uid := m.must("root", "id -u robot")
	m.must("root", "systemctl start sandboxd-launcher@"+uid+".socket")
	// Not by a login, which would start a service manager for it.
	if out := m.must("root", "cd /srv/robot && HOME=/srv/robot runuser -u robot -- sh -c 'mkdir work && cd work && git init -q && sbx run -- id -un'"); out != "robot" {
		t.Errorf("%q", out)
	}
	if out := m.must("root", "cd /srv/robot/work && runuser -u robot -- sbx run -c 'echo $HOME'"); out != "/srv/robot" {
		t.Errorf("a home that a symbolic link leads to: %q", out)
	}
	if out := m.must("root", "cat /proc/$(pgrep -u robot -x sandboxd)/cgroup"); !strings.Contains(out, "sandboxd-launcher@"+uid+".service") {
		t.Errorf("%s", out)
	}

	m.must("root", "loginctl enable-linger mallory")
	const mine = "export XDG_RUNTIME_DIR=/run/user/$(id -u); "
	m.until("mallory's service manager runs", func() bool { return m.as("mallory", mine+"systemctl --user is-system-running").out == "running" })
	m.must("mallory", mine+"systemctl --user enable --now sandboxd.socket sandboxd-approver.socket 2>&1; mkdir project; cd project; git init -q")
	if out := m.must("mallory", mine+"cd project && sbx --socket-dir $XDG_RUNTIME_DIR/sandboxd run -- id -un"); out != "mallory" {
		t.Errorf("%q", out)
	}
	if out := m.must("root", "cat /proc/$(pgrep -u mallory -x sandboxd)/cgroup"); !strings.Contains(out, "app.slice/sandboxd.service") {
		t.Errorf("%s", out)
	}
}

func machineRemove(t *testing.T, m *machine) {
	m.must("alice", "cd project && sbx run -- true")
	// As the installation does where the kernel restricts user namespaces by AppArmor.
	apparmor := "mkdir -p /etc/apparmor.d && cp /usr/share/sandboxd/apparmor/sandboxd /etc/apparmor.d/sandboxd"
	m.must("root", apparmor)
	if r := m.sh("apt-get -y remove sandboxd 2>&1 || dpkg -r sandboxd 2>&1"); r.code != 0 {
		t.Fatalf("remove: %s", r)
	}
	m.until("nothing of ours runs", func() bool { return m.sh("pgrep -x 'sandboxd|sandboxd-launch|bwrap'").code != 0 })
	if r := m.sh("grep -q 'changed by the administrator' /etc/sandboxd/config.toml"); r.code != 0 {
		t.Error("removing lost the administrator's file")
	}
	if r := m.sh("ls /run/sandboxd 2>/dev/null; systemctl list-units --all --plain --no-legend 'sandboxd*' | grep -v not-found"); r.out != "" {
		t.Errorf("left: %s", r)
	}
	if r := m.sh("ls /etc/apparmor.d/sandboxd 2>/dev/null"); r.out != "" {
		t.Errorf("left after removal: %s", r)
	}
	// Installed again it serves again; what the administrator disabled stays so.
	m.must("root", "dpkg -i --force-confold /pkg/*.deb 2>&1")
	if out := m.must("alice", "cd project && sbx run -- id -un"); out != "alice" {
		t.Errorf("after a removal: %q", out)
	}
	m.must("root", "systemctl disable --now sandboxd-heads.socket 2>&1 && dpkg -i --force-confold /pkg/*.deb 2>&1")
	if r := m.sh("systemctl is-enabled sandboxd.socket sandboxd-heads.socket"); r.out != "enabled\ndisabled" {
		t.Errorf("after an upgrade: %s", r)
	}
	// What an earlier version installed follows this one's; what was changed here does not.
	m.must("root", "echo '# an earlier one' >> /usr/share/sandboxd/apparmor/sandboxd; "+apparmor)
	if r := m.sh("dpkg -i --force-confold /pkg/*.deb 2>&1"); r.code != 0 || strings.Contains(r.out, "was changed here") {
		t.Errorf("upgrade: %s", r)
	}
	if r := m.sh("cmp /etc/apparmor.d/sandboxd /usr/share/sandboxd/apparmor/sandboxd && ! grep 'an earlier one' /etc/apparmor.d/sandboxd; ls /var/lib/sandboxd/apparmor*"); !strings.Contains(r.err, "No such file") || r.out != "" {
		t.Errorf("AppArmor's profile after an upgrade: %s", r)
	}
	m.must("root", apparmor+" && echo '# changed' >> /etc/apparmor.d/sandboxd")
	if r := m.sh("dpkg -i --force-confold /pkg/*.deb 2>&1; grep -c '# changed' /etc/apparmor.d/sandboxd"); !strings.Contains(r.out, "was changed here") || !strings.HasSuffix(r.out, "\n1") {
		t.Errorf("a changed profile after an upgrade: %s", r)
	}
	if r := m.sh("dpkg -P sandboxd 2>&1"); r.code != 0 {
		t.Fatalf("purge: %s", r)
	}
	if r := m.sh("ls -d /etc/sandboxd /var/lib/sandboxd /etc/credstore/sandboxd* /etc/apparmor.d/sandboxd 2>/dev/null"); r.out != "" {
		t.Errorf("left after purge: %s", r)
	}
	// A container of a host that restricts user namespaces, without AppArmor itself.
	if r := m.sh("rm -rf /etc/apparmor.d; unshare -m sh -c 'mount -t tmpfs none /proc/sys/kernel && echo 1 > /proc/sys/kernel/apparmor_restrict_unprivileged_userns && dpkg -i /pkg/*.deb' 2>&1 && ! ls -d /etc/apparmor.d"); r.code != 0 {
		t.Errorf("install where there is no AppArmor to tell: %s", r)
	}
	m.must("root", "dpkg -P sandboxd 2>&1")
	if r := m.sh("ls /home/alice/.local/state/sandboxd/audit/*.jsonl"); r.code != 0 {
		t.Error("purge took a user's log")
	}
}
