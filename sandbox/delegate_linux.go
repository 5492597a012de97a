package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// leaf is the group that the daemon moves itself into where a service manager
// delegated one to it (Delegate=yes).
const leaf = "sandboxd-self"

// takeDelegated makes a group that was delegated to us pass pids and memory on. A
// group with processes of its own can't (cgroups(7), "no internal processes"), so
// we move down into a leaf first; and only if we are alone, because the group's
// other processes may rely on their place.
func takeDelegated(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	self := strconv.Itoa(os.Getpid())
	if procs := strings.Fields(string(b)); !slices.Equal(procs, []string{self}) {
		return fmt.Errorf("%s does not pass pids and memory on, and is not ours alone (%d processes)", dir, len(procs))
	}
	own := filepath.Join(dir, leaf)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(self), 0); err != nil {
		os.Remove(own)
		return fmt.Errorf("move into a group of our own: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+pids +memory"), 0); err != nil {
		back := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(self), 0)
		os.Remove(own)
		return errors.Join(fmt.Errorf("pass pids and memory on: %w", err), back)
	}
	return nil
}
