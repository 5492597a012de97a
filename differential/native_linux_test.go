package differential

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox"
	"sandboxd/sandbox/stage"
)

// program is sandboxd-launch, compiled once.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "launch-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "sandboxd-launch")
	if _, err := exec.Command("../cmd/sandboxd-launch/build.sh", file).CombinedOutput(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// startNative is start where sandboxd-launch makes the mounts. The job comes on standard input and
// the outcomes go to standard output.
func (b built) startNative(t testing.TB, input []byte) (output []byte, streams string, err error) {
	t.Helper()
	code, err := program()
	must(t, err)
	laying := stage.Order{Await: true, Operations: b.operations}
	encoded, err := laying.MarshalBinary()
	must(t, err)
	order, err := sandbox.DataFile("order", bytes.NewReader(encoded))
	must(t, err)
	launch, in, binary := memfd(t, code), memfd(t, input), testBinary(t)
	for _, f := range []*os.File{order, launch, in, binary} {
		defer f.Close()
	}
	must(t, launch.Chmod(0o755))
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	status := os.NewFile(uintptr(pair[1]), "status")
	cmd := exec.Command("/proc/self/fd/5", stage.NativeArg, "own", "go")
	var said, out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = "/", []string{}, &said, asUser(b.euid)
	cmd.ExtraFiles = []*os.File{order, order, launch, status, os.Stderr, binary}
	must(t, cmd.Start())
	status.Close()
	command := stage.Order{Argv: []string{"probe", stageArgument}, Path: "/proc/self/fd/" + strconv.Itoa(stage.FDFree),
		Env: []string{"GOMAXPROCS=1", "GOGC=off", streamsVariable + "=1"}, Dir: "/"}
	copied := feed(t, pair[0], command, in, &out, &errs)
	failed := reports(pair[0])
	unix.Close(pair[0]) // the first process waits for that
	err = cmd.Wait()
	copied()
	return out.Bytes(), said.String() + errs.String() + failed, err
}

// feed sends the order with its descriptors; the function that it returns waits for the output.
func feed(t testing.TB, to int, o stage.Order, in *os.File, out, errs *bytes.Buffer) func() {
	t.Helper()
	pieces, err := o.Pieces()
	must(t, err)
	var ends [2][2]*os.File
	for i := range ends {
		ends[i][0], ends[i][1], err = os.Pipe()
		must(t, err)
	}
	rights := unix.UnixRights(int(in.Fd()), int(ends[0][1].Fd()), int(ends[1][1].Fd()))
	for _, piece := range pieces {
		must(t, unix.Sendmsg(to, piece, rights, nil, 0))
		rights = nil
	}
	var wait sync.WaitGroup
	for i, b := range []*bytes.Buffer{out, errs} {
		ends[i][1].Close()
		wait.Go(func() {
			b.ReadFrom(ends[i][0])
			ends[i][0].Close()
		})
	}
	return wait.Wait
}

// reports reads until the command has ended, and returns what failed.
func reports(from int) string {
	buf := make([]byte, 8192)
	for {
		n, err := unix.Read(from, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return ""
		}
		s, err := stage.ParseStatus(buf[:n])
		switch {
		case err != nil:
			return err.Error()
		case s.Step == stage.StepEnded:
			return ""
		case s.Message != "":
			return s.Step.String() + ": " + s.Message
		}
	}
}
