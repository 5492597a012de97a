package differential

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/sandbox"
	"sandboxd/sandbox/stage"
)

// ordinary is the uid of the ordinary user: ours, or one that needs no name.
var ordinary = func() int {
	if uid := os.Geteuid(); uid != 0 {
		return uid
	}
	return 54321
}()

// A way is one way to hold a profile.
type way struct {
	name  string
	euid  int
	mount bool // bwrap
	rules bool // Landlock
	// native: sandboxd-launch makes the mounts, not bwrap.
	native bool
}

// ways are those that this user can try; root can try all.
func ways(t testing.TB) []way {
	t.Helper()
	all := []way{
		{"bwrap and landlock as root", 0, true, true, false},
		{"native and landlock as root", 0, true, true, true},
		{"bwrap and landlock as an ordinary user", ordinary, true, true, false},
		{"native and landlock as an ordinary user", ordinary, true, true, true},
		{"landlock alone as an ordinary user", ordinary, false, true, false},
	}
	if os.Geteuid() == 0 {
		return all
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("run the differential test as root: nobody else can be root and an ordinary user in turn")
	}
	return all[1:]
}

// built is a profile compiled for a way.
type built struct {
	way
	mounts bwrap.Result
	layers []lsm.Ruleset
	gaps   []profile.Gap
	// operations are those of the native way.
	operations []stage.Operation
}

// build compiles p for w. The layers are the profiles whose intersection p is, the
// operator's first; build compiles each of them, too.
func build(t testing.TB, w way, p profile.Profile, layers ...profile.Profile) built {
	t.Helper()
	b := built{way: w}
	if w.mount {
		r, err := bwrap.Compile(p, layers, bwrap.Host{
			Version: bwrapVersion(t), FS: bwrap.HostFS(), Euid: w.euid, Descriptor: firstNull,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.mounts, b.gaps = r, r.Gaps
		b.operations = sandbox.Operations(r.Layout, slices.Contains(r.Args, "--unshare-net"), w.euid, w.euid)
	}
	if w.rules {
		abi, err := lsm.ABI()
		if err != nil {
			t.Fatal(err)
		}
		host := landlock.Host{FS: bwrap.HostFS(), Euid: w.euid}
		if w.mount {
			host.Place = landlock.Inside
		}
		if len(layers) == 0 {
			layers = []profile.Profile{p}
		}
		for _, layer := range layers {
			r, gaps, err := landlock.Compile(layer, abi, host)
			if err != nil {
				t.Fatal(err)
			}
			b.layers = append(b.layers, r)
			b.gaps = append(b.gaps, gaps...)
		}
	}
	return b
}

// bwrapVersion asks the bwrap of this machine once.
func bwrapVersion(t testing.TB) bwrap.Version {
	t.Helper()
	out, err := exec.Command("bwrap", "--version").Output()
	if err != nil {
		t.Fatalf("bwrap --version: %v; install bubblewrap", err)
	}
	v, err := bwrap.ParseVersion(string(out))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// run tries the probes under b.
func (b built) run(t testing.TB, probes []probe) []outcome {
	t.Helper()
	output, errors, err := b.start(t, job{Probes: probes})
	if err != nil {
		t.Fatalf("%s: %v: %s\nbwrap %q", b.name, err, errors, b.mounts.Args)
	}
	var outcomes []outcome
	if err := json.Unmarshal(output, &outcomes); err != nil || len(outcomes) != len(probes) {
		t.Fatalf("%s: %d outcomes of %d probes: %v", b.name, len(outcomes), len(probes), err)
	}
	return outcomes
}

// start runs the stage under b with the job, and returns what it wrote to
// descriptor 4 and what was written to the standard streams.
func (b built) start(t testing.TB, j job) (output []byte, streams string, err error) {
	t.Helper()
	for _, layer := range b.layers {
		data, err := layer.MarshalBinary()
		must(t, err)
		j.Layers = append(j.Layers, data)
	}
	input, err := json.Marshal(j)
	must(t, err)
	if b.native {
		return b.startNative(t, input)
	}
	in, binary, options := memfd(t, input), testBinary(t), memfd(t, bwrap.Encode(b.mounts.Args))
	defer in.Close()
	defer binary.Close()
	defer options.Close()
	read, write, err := os.Pipe()
	must(t, err)
	defer read.Close()
	cmd := exec.Command("/proc/self/fd/5", stageArgument)
	if b.mount {
		cmd = exec.Command("bwrap", "--args", strconv.Itoa(firstNull-1), "--", "/proc/self/fd/5", stageArgument)
	}
	cmd.Args[0] = "probe"
	cmd.Dir = "/"
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off"}
	cmd.ExtraFiles = []*os.File{in, write, binary, options}
	if b.mount {
		null, err := os.Open(os.DevNull)
		must(t, err)
		defer null.Close()
		for range b.mounts.Descriptors {
			cmd.ExtraFiles = append(cmd.ExtraFiles, null)
		}
	}
	cmd.SysProcAttr = asUser(b.euid)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	must(t, cmd.Start())
	write.Close()
	output, _ = io.ReadAll(read)
	return output, both.String(), cmd.Wait()
}

// asUser starts a process as that user.
func asUser(uid int) *syscall.SysProcAttr {
	if uid == os.Geteuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// memfd returns a file in memory with data, at its beginning.
func memfd(t testing.TB, data []byte) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("differential", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

func testBinary(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return f
}
