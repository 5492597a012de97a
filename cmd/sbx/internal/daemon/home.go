package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// homeDir is the home directory of the password database; HOME does not count, which
// package os/user takes for a user that it doesn't find. Users that are in no file (LDAP,
// Open Directory) are looked up with the system's own program.
func homeDir(uid int) (string, error) {
	text, _ := os.ReadFile("/etc/passwd")
	for line := range strings.SplitSeq(string(text), "\n") {
		if home, ok := homeOf(line, uid); ok {
			return home, nil
		}
	}
	cmd := exec.Command(passwdCommand[0], append(passwdCommand[1:], strconv.Itoa(uid))...)
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin"}, "/"
	out, err := cmd.Output()
	if err == nil {
		if home, ok := homeOf(string(out), uid); ok {
			return home, nil
		}
	}
	return "", fmt.Errorf("find the home directory of uid %d: it is not in the password database; add the user, or run "+
		"sbx as another one", uid)
}

// homeOf reads a line of passwd(5); darwin's has three fields more.
func homeOf(line string, uid int) (string, bool) {
	f := strings.Split(strings.TrimSpace(line), ":")
	if len(f) < 7 || f[2] != strconv.Itoa(uid) {
		return "", false
	}
	home := f[len(f)-2]
	return filepath.Clean(home), filepath.IsAbs(home)
}
