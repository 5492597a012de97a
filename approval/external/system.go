package external

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ownGroup puts the program into a process group of its own, and has all of
// the group killed when its time is up (setpgid(2), kill(2)).
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// trusted reports why another program than the configured one could run: users other than
// root and our own may exchange it, or it can be reached by another name than the
// one that commands can't change. nil: neither.
func trusted(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if real != path {
		return fmt.Errorf("a symbolic link leads to it: name %q", real)
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return fmt.Errorf("the owner of %q can't be determined", at)
		case at == path && !info.Mode().IsRegular():
			return errors.New("it is not a regular file")
		case at == path && st.Nlink > 1:
			return errors.New("it has other names (hard links): make a copy, and name that")
		case st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return fmt.Errorf("%q belongs to user %d, who could exchange it: chown root %s", at, st.Uid, at)
		case info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0:
			return fmt.Errorf("others may write to %q (mode %04o): chmod go-w %s", at, info.Mode().Perm(), at)
		}
		if at == "/" {
			return nil
		}
	}
}
