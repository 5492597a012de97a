package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// FuzzStat: a process chooses its own name, and with it nothing else.
func FuzzStat(f *testing.F) {
	for _, name := range []string{"sh", "a b", ") R 1 1 1 1 1", "a) S (b", "\n)", "(((",
		") Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"} {
		f.Add(name)
	}
	rest := " S 7 8 9 34816 10 4194304 1 2 3 4 5 6 7 8 20 0 3 0 4242 999 1 18446744073709551615\n"
	want := Stat{State: 'S', Parent: 7, Session: 9, TTY: 34816, Threads: 3, Start: 4242}
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := parseStat([]byte("123 (" + name + ")" + rest)); err != nil || got != want {
			t.Fatalf("%q: %+v, %v", name, got, err)
		}
		parseStat([]byte(name)) // must not panic
	})
}

func TestParseStat(t *testing.T) {
	for _, bad := range []string{"", "1", "1 (a", "1 (a)", "1 (a) S 1 2 3",
		"1 (a) SS 7 8 9 0 10 0 1 2 3 4 5 6 7 8 20 0 1 0 42", "1 (a) S x 8 9 0 10 0 1 2 3 4 5 6 7 8 20 0 1 0 42",
		"1 (a) S 7 8 9 0 10 0 1 2 3 4 5 6 7 8 20 0 1 0 -42"} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
	// A terminal's number is printed as an int: high minor numbers are negative.
	s, err := parseStat([]byte("1 (a) S 7 8 9 -2147449856 10 0 1 2 3 4 5 6 7 8 20 0 1 0 42"))
	if err != nil || s.TTY != 0x80008400 {
		t.Errorf("%+v, %v", s, err)
	}
	for state, ended := range map[string][2]bool{ // with one thread, with two
		"R": {false, false}, "S": {false, false}, "D": {false, false}, "T": {false, false}, "Z": {true, false},
		"X": {true, true},
	} {
		for i, threads := range []string{"1", "2"} {
			s, err := parseStat([]byte("1 (a) " + state + " 7 8 9 0 10 0 1 2 3 4 5 6 7 8 20 0 " + threads + " 0 42"))
			if err != nil || s.Ended() != ended[i] {
				t.Errorf("%s with %s threads: ended %v, %v", state, threads, s.Ended(), err)
			}
		}
	}
}

// What the kernel really writes: of ourselves, of a program with a name of that kind, of
// one that was not waited for, of one whose first thread is gone, and of none.
func TestReadStat(t *testing.T) {
	own, err := ReadStat(os.Getpid())
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	if err != nil || errno != 0 || own.Parent != os.Getppid() || own.Session != int(sid) || own.Ended() ||
		own.Threads < 2 || own.Start == 0 {
		t.Errorf("%+v, %v", own, err)
	}
	for _, name := range []string{"a) Z 1 (b", "two words", "l\nine"} {
		program := filepath.Join(t.TempDir(), name)
		b, err := os.ReadFile("/bin/sleep")
		if err == nil {
			err = os.WriteFile(program, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "60")
		for err = syscall.ETXTBSY; errors.Is(err, syscall.ETXTBSY); { // a child of another test's may hold it open
			cmd = exec.Command(program, "60")
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := ReadStat(cmd.Process.Pid)
		if err != nil || s.Parent != os.Getpid() || s.Ended() || s.Threads != 1 || s.Start < own.Start {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
		cmd.Process.Kill()
		until(t, name+" is a zombie", func() bool {
			s, err := ReadStat(cmd.Process.Pid)
			return err == nil &&
				s.State == 'Z' && s.Ended()
		})
		cmd.Wait()
		if _, err := ReadStat(cmd.Process.Pid); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%q, waited for: %v", name, err)
		}
	}
	for _, pid := range []int{0, -1} {
		if _, err := ReadStat(pid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}

// A process runs in its other threads when its first has ended.
func TestFirstThreadExited(t *testing.T) {
	cmd := exec.Command("python3", "-c", `
import ctypes, threading, time
threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
ctypes.CDLL(None).syscall(60 if __import__("platform").machine() == "x86_64" else 93, 0) # exit(2), of this thread alone
`)
	var output strings.Builder
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	until(t, "its first thread has ended", func() bool {
		s, err := ReadStat(cmd.Process.Pid)
		return err == nil &&
			s.State == 'Z'
	})
	if s, err := ReadStat(cmd.Process.Pid); err != nil || s.Ended() || s.Threads < 2 {
		t.Errorf("%+v, %v %s", s, err, output.String())
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not before the deadline: %s", what)
		}
	}
}
