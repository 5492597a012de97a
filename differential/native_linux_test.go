package differential

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

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
	pieces, err := laying.Pieces(stage.CarriesNothing)
	must(t, err)
	launch, in, binary := memfd(t, code), memfd(t, input), testBinary(t)
	for _, f := range []*os.File{launch, in, binary} {
		defer f.Close()
	}
	must(t, launch.Chmod(0o755))
	var pairs [2][2]int // of the server, and of the sandbox
	for i := range pairs {
		pairs[i], err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		must(t, err)
	}
	theirs := os.NewFile(uintptr(pairs[0][1]), "server")
	cmd := exec.Command("/proc/self/fd/"+strconv.Itoa(stage.FDStage), stage.ServeArg)
	var said, out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = "/", []string{}, &said, asUser(b.euid)
	cmd.ExtraFiles = []*os.File{launch, launch, theirs}
	must(t, cmd.Start())
	theirs.Close()
	rights := unix.UnixRights(pairs[1][1], int(binary.Fd()))
	must(t, unix.Sendmsg(pairs[0][0], stage.Launch{Program: true}.Encode(), rights, nil, 0))
	unix.Close(pairs[1][1])
	for _, piece := range pieces {
		must(t, unix.Sendmsg(pairs[1][0], piece, nil, nil, 0))
	}
	command := stage.Order{Argv: []string{"probe", stageArgument}, Path: "/proc/self/fd/" + strconv.Itoa(stage.FDFree),
		Env: []string{"GOMAXPROCS=1", "GOGC=off", streamsVariable + "=1"}, Dir: "/"}
	copied := feed(t, pairs[1][0], command, in, &out, &errs)
	failed := reports(pairs[1][0])
	copied()
	unix.Close(pairs[1][0]) // the first process waits for that
	unix.Close(pairs[0][0]) // and the server for that
	cmd.Wait()
	if failed != "" {
		err = errors.New(failed)
	}
	return out.Bytes(), said.String() + errs.String(), err
}

// feed sends the order with its descriptors; the function that it returns waits for the output.
func feed(t testing.TB, to int, o stage.Order, in *os.File, out, errs *bytes.Buffer) func() {
	t.Helper()
	pieces, err := o.Pieces(stage.CarriesStandard)
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

// reports reads until the command has ended, and returns what failed, a status that is not 0 too.
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
			if end, err := s.End(); err != nil || end.Code != 0 {
				return fmt.Sprint("the command ended with status ", end.Code)
			}
			return ""
		case s.Message != "":
			return s.Step.String() + ": " + s.Message
		}
	}
}
