package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sandboxd/cmd/internal/paths"
	"sandboxd/config"
)

// dirs are the daemon's own places.
type dirs struct {
	sockets, state, audit string
}

// openDirs settles where sockets (where sbx looks for them) and state lie, makes the state directory and
// checks that nobody else can write there.
func openDirs(f flags, cfg *config.Config) (dirs, error) {
	home, err := homeDir()
	if err != nil {
		return dirs{}, err
	}
	d := dirs{sockets: first(f.socketDir, cfg.Daemon.SocketDir,
		paths.OwnSocketDir(os.Getenv("XDG_RUNTIME_DIR"), os.Geteuid())),
		state: first(f.stateDir, cfg.Daemon.StateDir, paths.OwnStateDir(home))}
	d.audit = filepath.Join(d.state, "audit")
	for _, dir := range []string{d.state, d.audit} {
		if err := ownDir(dir); err != nil {
			return dirs{}, err
		}
	}
	if d.state, err = filepath.EvalSymlinks(d.state); err != nil {
		return dirs{}, err
	}
	d.audit = filepath.Join(d.state, "audit")
	return d, nil
}

// inState returns the path of a name in the state directory.
func (d dirs) inState(name string) string { return filepath.Join(d.state, name) }

// overruled warns of places in the configuration that the command line takes no notice of, as
// where sbx starts the daemon: it must know them before there is one that reads the files.
func overruled(f flags, cfg *config.Config) []config.Warning {
	var list []config.Warning
	for _, c := range []struct{ key, given, set string }{{"socket_dir", f.socketDir, cfg.Daemon.SocketDir},
		{"state_dir", f.stateDir, cfg.Daemon.StateDir}} {
		if c.given != "" && c.set != "" && c.given != c.set {
			flag := "--" + strings.Replace(c.key, "_", "-", 1)
			list = append(list, config.Warning{Origin: cfg.Origin("daemon." + c.key),
				Text: fmt.Sprintf("%s = %q is not used: this daemon was started with %s %s; sbx, which reads no configuration, "+
					"needs %s or $SBX_%s", c.key, c.set, flag, c.given, flag, strings.ToUpper(c.key))})
		}
	}
	return list
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// ownDir makes dir, 0700, and refuses one that another user owns or can write.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w; choose another with --state-dir", err)
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("state directory: its owner can't be determined")
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("state directory %q belongs to user %d; choose another with --state-dir", dir, st.Uid)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("state directory %q is open to others: %w", dir, err)
		}
	}
	return nil
}

// own lists the daemon's paths: no project may contain them, and no sandbox may reach them.
func (d dirs) own(layers config.Paths) []string {
	list := []string{d.sockets, d.state, filepath.Dir(layers.Operator)}
	if fi, err := os.Stat(paths.SystemDir); err == nil && fi.IsDir() && d.sockets != paths.SystemDir {
		list = append(list, paths.SystemDir)
	}
	if layers.User != "" {
		list = append(list, layers.User)
	}
	return list
}
