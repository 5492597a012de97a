package differential

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"sandboxd/landlock/landlocktest"

	"golang.org/x/sys/unix"
)

// A probe is one thing to try inside.
type probe struct {
	Do   string
	Path string `json:",omitempty"`
	Port int    `json:",omitempty"`
	To   string `json:",omitempty"` // the other path of rename, link, symlink, dotdot
}

func (p probe) String() string {
	if p.To != "" {
		return p.Do + " " + p.Path + " → " + p.To
	}
	return p.Do + " " + p.Path
}

// An outcome is what came of it.
type outcome struct {
	Errno   syscall.Errno `json:",omitempty"`
	Content string        `json:",omitempty"` // of what was read
}

func (o outcome) ok() bool { return o.Errno == 0 }

// A job is what the stage reads from descriptor 3; it answers on descriptor 4.
type job struct {
	Layers [][]byte // Landlock rulesets, the first one outermost
	Probes []probe
	Exec   []string // instead of probes: execute this
	Env    []string
	Dir    string
}

// streamsVariable has the stage use standard input and output instead.
const streamsVariable = "DIFFERENTIAL_STREAMS"

// stageArgument makes the test binary play the stage.
const stageArgument = "differential-stage"

func init() {
	if len(os.Args) > 1 && os.Args[1] == stageArgument {
		runtime.LockOSThread() // Landlock binds a thread: the main one
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == stageArgument {
		if err := play(); err != nil {
			fmt.Fprintln(os.Stderr, "stage:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	if os.Geteuid() == 0 {
		os.Exit(inMemory(m))
	}
	os.Exit(m.Run())
}

// treeVariable holds the mount point for the second run of the test binary.
const treeVariable = "DIFFERENTIAL_TREE"

// inMemory runs the tests with a TMPDIR in memory: thousands of trees are made
// and removed. The mount is in a namespace of its own and goes with it.
func inMemory(m *testing.M) int {
	if dir := os.Getenv(treeVariable); dir != "" {
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err == nil {
			err = unix.Mount("differential", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
		}
		// A tmpfs has no extended attributes of users before Linux 6.6: then on disk.
		if err == nil && unix.Setxattr(dir, "user.differential", []byte("x"), 0) == unix.EOPNOTSUPP {
			err = errors.Join(unix.Unmount(dir, 0), os.Chmod(dir, 0o755))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "mount a tree in memory:", err)
			return 1
		}
		os.Setenv("TMPDIR", dir)
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	runtime.LockOSThread() // the signal on our death is one on the thread's
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), treeVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState == nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return 1
	}
	return 0
}

func play() error {
	in, out := os.NewFile(3, "job"), os.NewFile(4, "outcomes")
	if os.Getenv(streamsVariable) != "" {
		in, out = os.Stdin, os.Stdout
	}
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, layer := range j.Layers {
		r, err := landlocktest.Decode(layer)
		if err != nil {
			return err
		}
		if err := landlocktest.Restrict(r); err != nil {
			return err
		}
	}
	if j.Exec != nil {
		if err := unix.Chdir(j.Dir); err != nil {
			return err
		}
		return unix.Exec(j.Exec[0], j.Exec, j.Env)
	}
	outcomes := make([]outcome, len(j.Probes))
	for i, p := range j.Probes {
		outcomes[i] = attempt(p)
	}
	return json.NewEncoder(out).Encode(outcomes)
}

// attempt does what p says with the system call that a hostile program would use.
func attempt(p probe) outcome {
	var content string
	var err error
	switch p.Do {
	case "read":
		content, err = readFile(p.Path)
	case "read by fd":
		content, err = readByDescriptor(p.Path)
	case "read by dotdot":
		content, err = readFile(p.To + "/../" + p.Path[len(p.To[:lastSlash(p.To)])+1:])
	case "read by link":
		content, err = readFile(p.To)
	case "write":
		err = writeFile(p.Path, unix.O_WRONLY)
	case "append":
		err = writeFile(p.Path, unix.O_WRONLY|unix.O_APPEND)
	case "truncate":
		err = unix.Truncate(p.Path, 1)
	case "open and truncate":
		err = writeFile(p.Path, unix.O_WRONLY|unix.O_TRUNC)
	case "create":
		err = writeFile(p.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	case "unlink":
		err = unix.Unlink(p.Path)
	case "rename":
		err = unix.Rename(p.Path, p.To)
	case "rename and back":
		if err = unix.Rename(p.Path, p.To); err == nil {
			err = unix.Rename(p.To, p.Path)
		}
	case "exchange":
		err = unix.Renameat2(unix.AT_FDCWD, p.Path, unix.AT_FDCWD, p.To, unix.RENAME_EXCHANGE)
	case "link":
		err = unix.Link(p.Path, p.To)
	case "symlink":
		err = unix.Symlink("/nowhere", p.Path)
	case "chmod":
		err = unix.Chmod(p.Path, 0o700)
	case "chown":
		err = unix.Lchown(p.Path, os.Geteuid(), os.Getegid())
	case "setxattr":
		err = unix.Setxattr(p.Path, "user.differential", []byte("1"), 0)
	case "utime":
		err = unix.Utimes(p.Path, []unix.Timeval{{Sec: 1}, {Sec: 1}})
	case "mkdir":
		err = unix.Mkdir(p.Path, 0o755)
	case "rmdir":
		err = unix.Rmdir(p.Path)
	case "mkfifo":
		err = unix.Mknod(p.Path, unix.S_IFIFO|0o644, 0)
	case "exec":
		err = execute(p.Path)
	case "stat":
		var st unix.Stat_t
		err = unix.Lstat(p.Path, &st)
	case "list":
		err = list(p.Path)
	case "connect":
		err = withSocket(func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: p.Path}) })
	case "bind":
		err = withSocket(func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: p.Path}) })
	default:
		err = attemptOther(p)
	}
	if err == nil {
		return outcome{Content: content}
	}
	errno, ok := err.(syscall.Errno)
	if !ok {
		panic(fmt.Sprintf("%v: %v is no errno", p, err))
	}
	return outcome{Errno: errno}
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return -1
}

func readFile(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buffer := make([]byte, 64)
	n, err := unix.Read(fd, buffer)
	return string(buffer[:max(n, 0)]), err
}

func readByDescriptor(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return readFile(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func writeFile(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("changed"))
	return err
}

func execute(path string) error {
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	if err != nil {
		return err
	}
	_, err = syscall.Wait4(pid, nil, 0, nil)
	return err
}

func list(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Getdents(fd, make([]byte, 4096))
	return err
}

func withSocket(do func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}
