// Package paths knows where a user's daemon has its sockets and the programs beside sbx
// lie, and whether somebody else could have put them there. The daemon and sbx ask it
// alike, so that they meet. It links next to nothing: the program that is installed as
// sbx starts with it.
package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// SystemDir is where a daemon of the whole system has its sockets.
const SystemDir = "/run/sandboxd"

// Rest is the program beside sbx that has all verbs. Front, which is installed
// as sbx, executes it for everything else.
const Rest = "sbx-verbs"

// OwnSocketDir is the user's own directory: the first of $XDG_RUNTIME_DIR and
// /run/user/UID that is private, else one that the user's daemon makes.
func OwnSocketDir(xdg string, uid int) string {
	runtime := "/run/user/" + strconv.Itoa(uid)
	for _, dir := range []string{xdg, runtime} {
		if filepath.IsAbs(dir) && Private(dir, uid) == nil {
			return filepath.Join(dir, "sandboxd")
		}
	}
	if uid == 0 {
		return SystemDir
	}
	return "/tmp/sandboxd-" + strconv.Itoa(uid)
}

// OwnStateDir is where a user's daemon keeps its records, below the home directory of the
// password database, so that it does not depend on the daemon's starter.
func OwnStateDir(home string) string { return filepath.Join(home, ".local", "state", "sandboxd") }

// Absolute resolves name against the current directory. It fails if name is relative and the
// current directory is gone; the error names the remedy.
func Absolute(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		err = errors.New(strconv.Quote(name) + " is relative to the current directory, which can't be used (" + err.Error() +
			"); give an absolute path")
	}
	return abs, err
}

// Private returns why dir is not a directory of uid's that is closed to others.
func Private(dir string, uid int) error {
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return errors.New(strconv.Quote(dir) + " is not a directory")
	case owner(fi) != uid:
		return errors.New(strconv.Quote(dir) + " belongs to uid " + strconv.Itoa(owner(fi)) + ", not to " + strconv.Itoa(uid))
	case fi.Mode().Perm()&0o077 != 0:
		return errors.New(strconv.Quote(dir) + " is open to others (mode " + octal(fi.Mode()) + ")")
	}
	return nil
}

// Trustworthy returns why another user could have made or changed name.
func Trustworthy(name string) error { return changedBy(name, os.Geteuid()) }

// changedBy returns why name could have been made or changed by somebody else
// than root and one of these users.
func changedBy(name string, users ...int) error {
	fi, err := os.Lstat(name)
	if err != nil {
		return err
	}
	uid, gid, mode := owner(fi), int(fi.Sys().(*syscall.Stat_t).Gid), fi.Mode()
	ours := uid == 0
	for _, u := range users {
		ours = ours || uid == u
	}
	switch {
	case !mode.IsRegular() && !mode.IsDir():
		return errors.New(strconv.Quote(name) + " is a " + mode.Type().String())
	case !ours:
		return errors.New(strconv.Quote(name) + " belongs to uid " + strconv.Itoa(uid))
	case mode.Perm()&0o002 != 0:
		return errors.New(strconv.Quote(name) + " can be changed by everybody (mode " + octal(mode) + ")")
	case mode.Perm()&0o020 != 0 && gid != 0 && gid != os.Getegid():
		return errors.New(strconv.Quote(name) + " can be changed by group " + strconv.Itoa(gid) + " (mode " + octal(mode) +
			")")
	}
	return nil
}

// MCP is the program beside sbx that serves the Model Context Protocol.
const MCP = "sbx-mcp"

// Execute executes a part of sbx beside this very program in this
// process's place. It must be a file that nobody can have put there but root, this user, and
// whose this program is. It returns only with an error.
func Execute(part string, args []string) error {
	program, err := find(part)
	if err == nil {
		err = syscall.Exec(program, args, os.Environ())
	}
	advice := "install all parts together"
	if program == "" { // os.Executable asks /proc
		advice = "is /proc mounted?"
	}
	return errors.New("a part of this program, " + part + ", can't be used: " + err.Error() + "; " + advice)
}

func find(part string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", err
	}
	fi, err := os.Lstat(self)
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(self), part)
	return program, changedBy(program, os.Geteuid(), owner(fi))
}

// Program returns the path of sbx, for other programs to call. In the program [Rest] it is the
// sbx installed beside it.
func Program() (string, error) {
	self, err := os.Executable()
	if err != nil || filepath.Base(self) != Rest {
		return self, err
	}
	return filepath.Join(filepath.Dir(self), "sbx"), nil
}

func owner(fi fs.FileInfo) int { return int(fi.Sys().(*syscall.Stat_t).Uid) }

func octal(mode fs.FileMode) string { return "0" + strconv.FormatInt(int64(mode.Perm()), 8) }

// Handed is the prefix of the argument with which front hands an exchange over. After it,
// separated by commas: the connection's descriptor, the descriptor of a file with the part of
// the answer read so far, the number of a signal received (0: none), and the number of the last
// event whose output was written (0: none).
const Handed = "--handed="
