package landlocktest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"sandboxd/landlock"
	"sandboxd/landlock/landlocktest"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
)

// oracleRole is the variable that has this test binary restrict itself by the library that it names.
const oracleRole = "LANDLOCK_TEST_ORACLE"

func TestMain(m *testing.M) {
	by, ok := os.LookupEnv(oracleRole)
	if !ok {
		os.Exit(m.Run())
	}
	if err := playRestricted(by); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// part is what a child that restricts itself is given, on standard input. The paths of
// the rules are relative to Dir.
type part struct {
	Dir     string
	Port    int // of a TCP listener
	Ruleset lsm.Ruleset
}

// playRestricted restricts this process and prints the errno of each operation.
func playRestricted(by string) error {
	runtime.LockOSThread()
	var p part
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return err
	}
	for i := range p.Ruleset.Paths {
		p.Ruleset.Paths[i].Path = filepath.Join(p.Dir, p.Ruleset.Paths[i].Path)
	}
	if err := unix.Chdir(p.Dir); err != nil {
		return err
	}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	switch {
	case err != nil:
	case by == "ours":
		err = landlocktest.Restrict(p.Ruleset)
	default:
		err = restrictByOracle(p.Ruleset)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(operate(p.Port))
}

// restrictByOracle is [landlocktest.Restrict] by go-landlock's high-level package.
func restrictByOracle(r lsm.Ruleset) error {
	config, err := oracle.NewConfig(
		oracle.AccessFSSet(r.HandledFS),
		oracle.AccessNetSet(r.HandledNet),
		oracle.ScopedSet(r.Scoped),
	)
	if err != nil {
		return err
	}
	var rules []oracle.Rule
	for _, rule := range r.Paths {
		access := rule.Access
		st, err := os.Lstat(rule.Path)
		switch {
		case rule.Optional && errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		case !st.IsDir():
			access &= lsm.File
		}
		if access != 0 {
			rules = append(rules, oracle.PathAccess(oracle.AccessFSSet(access), rule.Path))
		}
	}
	for _, rule := range r.Ports {
		if rule.Access&lsm.BindTCP != 0 {
			rules = append(rules, oracle.BindTCP(rule.Port))
		}
		if rule.Access&lsm.ConnectTCP != 0 {
			rules = append(rules, oracle.ConnectTCP(rule.Port))
		}
	}
	return config.Restrict(rules...)
}

// oracleTree is where the operations happen: two directories with the same entries.
var oracleTree = []string{"a", "b", "a/sub"}

// operate makes every operation in the working directory, and returns the errno of each.
func operate(port int) map[string]string {
	said := map[string]string{}
	note := func(err error, format string, args ...any) {
		said[fmt.Sprintf(format, args...)] = fmt.Sprint(err)
	}
	open := func(path string, flags int) error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		unix.Close(fd)
		return err
	}
	for _, d := range oracleTree {
		note(open(d+"/file", unix.O_RDONLY), "read %s", d)
		note(open(d+"/file", unix.O_WRONLY), "write %s", d)
		note(open(d+"/file", unix.O_WRONLY|unix.O_TRUNC), "open and truncate %s", d)
		note(unix.Truncate(d+"/file", 1), "truncate %s", d)
		note(open(d, unix.O_RDONLY|unix.O_DIRECTORY), "list %s", d)
		note(open(d+"/new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL), "create in %s", d)
		note(unix.Mkdir(d+"/made", 0o700), "mkdir in %s", d)
		note(unix.Rmdir(d+"/empty"), "rmdir in %s", d)
		note(unix.Symlink("x", d+"/link"), "symlink in %s", d)
		note(unix.Mkfifo(d+"/fifo", 0o600), "mkfifo in %s", d)
		note(unix.Rename(d+"/moved", d+"/named"), "rename in %s", d)
		note(unix.Rename(d+"/away", "a/sub/from-"+filepath.Base(d)), "rename %s to a/sub", d)
		note(unix.Link(d+"/file", "b/of-"+filepath.Base(d)), "link %s to b", d)
		note(unix.Unlink(d+"/old"), "unlink in %s", d)
		err := exec.Command("./" + d + "/program").Run()
		var errno unix.Errno
		errors.As(err, &errno)
		note(errno, "execute in %s", d)
	}
	note(connectTo(port, false), "bind")
	note(connectTo(port, true), "connect")
	note(unix.Kill(os.Getppid(), 0), "signal")
	return said
}

// connectTo connects to a port of this host, or binds port 0.
func connectTo(port int, connect bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !connect {
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// TestAgainstGoLandlock: the same rules, put in force by ours and by go-landlock, allow and refuse the
// same operations: for rulesets that Compile makes of profiles, and for generated ones.
func TestAgainstGoLandlock(t *testing.T) {
	abi, err := lsm.ABI()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	rulesets := compiledRulesets(t, abi)
	random := rand.New(rand.NewPCG(1, uint64(abi)))
	for range 40 {
		rulesets = append(rulesets, generatedRuleset(random, abi, uint16(port)))
	}
	var refused, allowed int
	for _, r := range rulesets {
		ours, theirs := restricted(
			t,
			"ours",
			part{Port: port, Ruleset: r},
		), restricted(
			t,
			"theirs",
			part{Port: port, Ruleset: r},
		)
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("go-landlock -, ours +:\n%s\nunder\n%v", diff, r)
		}
		for _, errno := range ours {
			if errno == unix.EACCES.Error() || errno == unix.EPERM.Error() {
				refused++
			} else {
				allowed++
			}
		}
	}
	if refused < len(rulesets) || allowed < len(rulesets) {
		t.Errorf(
			"got %d refused and %d allowed operations under %d rulesets, want more of both",
			refused,
			allowed,
			len(rulesets),
		)
	}
}

// compiledRulesets are of profiles whose paths mean the tree at "/".
func compiledRulesets(t *testing.T, abi int) []lsm.Ruleset {
	t.Helper()
	dir := grow(t)
	var list []lsm.Ruleset
	const rw = profile.Read | profile.Write
	for _, rules := range [][]profile.Rule{
		{{Kind: profile.Allow, Access: profile.Read, Path: "/a"}},
		{{Kind: profile.Allow, Access: rw, Path: "/a"}, {Kind: profile.Hide, Path: "/a/sub"}},
		{{Kind: profile.Allow, Access: rw | profile.Exec, Path: "/"}, {Kind: profile.Protect, Path: "/b"}},
	} {
		p, err := profile.New(profile.Spec{Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := landlock.Compile(p, abi, landlock.Host{FS: os.DirFS(dir).(fs.ReadLinkFS), Euid: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Paths {
			r.Paths[i].Optional = true
		}
		list = append(list, r)
	}
	return list
}

// generatedRuleset handles and grants by chance.
func generatedRuleset(random *rand.Rand, abi int, port uint16) lsm.Ruleset {
	all := lsm.Handles(abi)
	r := lsm.Ruleset{
		HandledFS:  all.FS&lsm.AccessFS(random.Uint64()) | lsm.ReadFile,
		HandledNet: all.Net & lsm.AccessNet(random.Uint64()) & (lsm.BindTCP | lsm.ConnectTCP),
		Scoped:     all.Scoped & lsm.Scope(random.Uint64()),
	}
	for _, path := range []string{"a", "a/file", "a/program", "a/sub", "a/sub/file", "b", "b/absent"} {
		if access := r.HandledFS & lsm.AccessFS(random.Uint64()); access != 0 && random.IntN(2) == 0 {
			r.Paths = append(r.Paths, lsm.PathRule{Path: path, Access: access, Optional: true})
		}
	}
	for _, p := range []uint16{0, port} {
		if access := r.HandledNet & lsm.AccessNet(random.Uint64()); access != 0 {
			r.Ports = append(r.Ports, lsm.PortRule{Port: p, Access: access})
		}
	}
	return r
}

// restricted returns what a child that restricts itself says of each operation, in a tree of its own.
func restricted(t *testing.T, by string, p part) map[string]string {
	t.Helper()
	p.Dir = grow(t)
	in, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{oracleRole + "=" + by}
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		pipe.Write(in)
		pipe.Close()
	}()
	out, err := cmd.Output()
	said := map[string]string{}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s\nunder\n%v", by, err, out, p.Ruleset)
	}
	return said
}

// grow makes the tree of the operations.
func grow(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, d := range slices.Sorted(slices.Values(oracleTree)) {
		must(os.MkdirAll(filepath.Join(dir, d, "empty"), 0o755))
		for _, name := range []string{"file", "moved", "away", "old"} {
			must(os.WriteFile(filepath.Join(dir, d, name), []byte("x"), 0o644))
		}
		must(os.WriteFile(filepath.Join(dir, d, "program"), []byte("not a program"), 0o755))
	}
	return dir
}
