package main

import (
	"os"
	"path/filepath"
	"strings"
)

// order is a plain `sbx run`: what its arguments say.
type order struct {
	socketDir string
	line      string   // of shell; "" where there is argv
	argv      []string // a command without a shell
	cwd       string   // absolute
	noStdin   bool

	agent, description, session, ticket string

	project string // where sbx was started
	secret  string // of the session
}

// isSbx reports whether that is the name we were called by: as a shell we are
// called otherwise (see `sbx shell`).
func isSbx(name string) bool { return filepath.Base(name) == "sbx" }

// read reads the arguments. Flags that are not of the common ones, and whatever
// is wrong, are not plain.
func read(args []string, getenv func(string) string) (o order, ok bool) {
	var ignored string // for a daemon that is to be started
	line := "\x00"     // not given
	own := map[string]*string{"--socket-dir": &o.socketDir, "--state-dir": &ignored, "--config": &ignored}
	if args, ok = values(args, own, nil); !ok || len(args) == 0 || args[0] != "run" {
		return o, false
	}
	own["--command"], own["-c"], own["--cwd"], own["-C"] = &line, &line, &o.cwd, &o.cwd
	own["--agent-name"], own["--description"], own["--session"], own["--ticket"] = &o.agent, &o.description, &o.session, &o.ticket
	var no bool
	if args, ok = values(args[1:], own, map[string]*bool{"-n": &o.noStdin, "--no-stdin": &o.noStdin, "--no-ask": &no, "--plain": &no}); !ok {
		return o, false
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	given := line != "\x00"
	if given {
		o.line = line
	} else {
		o.argv = args
	}
	switch {
	case given == (len(args) > 0), given && strings.TrimSpace(line) == "", !given && args[0] == "":
		return o, false
	case o.ticket != "" && o.session != "":
		return o, false
	}
	if o.session != "" {
		o.secret = getenv("SBX_SESSION_SECRET")
	}
	if o.socketDir == "" {
		o.socketDir = getenv("SBX_SOCKET_DIR")
	}
	var err error
	if o.project, err = os.Getwd(); err != nil {
		return o, false
	}
	switch {
	case o.cwd == "":
		o.cwd = o.project
	case filepath.IsAbs(o.cwd):
		o.cwd = filepath.Clean(o.cwd)
	default:
		o.cwd = filepath.Join(o.project, o.cwd)
	}
	return o, true
}

// values takes flags off the front of args. It stops at "--" and at what is no flag.
func values(args []string, texts map[string]*string, switches map[string]*bool) ([]string, bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" && args[0] != "--" {
		name, value, joined := args[0], "", false
		if strings.HasPrefix(name, "--") {
			name, value, joined = strings.Cut(name, "=")
		}
		args = args[1:]
		if on := switches[name]; on != nil && !joined {
			*on = true
			continue
		}
		to := texts[name]
		if to == nil || !joined && len(args) == 0 {
			return args, false
		}
		if !joined {
			value, args = args[0], args[1:]
		}
		*to = value
	}
	return args, true
}
