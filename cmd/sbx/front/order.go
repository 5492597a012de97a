package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"sandboxd/cmd/sbx/internal/arguments"
)

// order is the arguments of a plain `sbx run` or `sbx shell`.
type order struct {
	socketDir string
	line      string   // of shell; "" where there is argv
	argv      []string // a command without a shell
	cwd       string   // absolute
	noStdin   bool

	env     map[string]string
	timeout time.Duration // 0: none

	agent, description, session, ticket string

	project string // where sbx was started
	secret  string // of the session
}

// read reads the name that we were called by, and the arguments. Flags that are not
// of the common ones, and wrong lines, are not plain.
func read(args []string, getenv func(string) string) (o order, ok bool) {
	name, args := args[0], args[1:]
	line := unset
	own := map[string]*string{"--socket-dir": &o.socketDir}
	if arguments.IsShell(name) {
		ok = o.shell(args, getenv)
		return o, ok
	}
	if args, ok = values(args, own, nil, nil); !ok || len(args) == 0 || filepath.Base(name) != "sbx" {
		return o, false
	}
	if args[0] == "shell" {
		ok = o.shell(args[1:], getenv)
		return o, ok
	}
	if args[0] != "run" {
		return o, false
	}
	o.session = unset
	own["--command"], own["-c"], own["--cwd"], own["-C"] = &line, &line, &o.cwd, &o.cwd
	own["--agent-name"], own["--description"], own["--session"], own["--ticket"] = &o.agent, &o.description, &o.session,
		&o.ticket
	timeout := unset
	own["--timeout"], own["-t"] = &timeout, &timeout
	var no bool
	var env []string
	if args, ok = values(args[1:], own, map[string]*[]string{"--env": &env, "-e": &env},
		map[string]*bool{"-n": &o.noStdin, "--no-stdin": &o.noStdin, "--no-ask": &no, "--plain": &no}); !ok {
		return o, false
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if o.session == unset {
		if o.session = ""; o.ticket == "" {
			o.session = getenv("SBX_SESSION")
		}
	}
	given := line != unset
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
	var err error
	if len(env) > 0 {
		if o.env, err = arguments.Environment(env); err != nil {
			return o, false
		}
	}
	if timeout != unset {
		if o.timeout, ok = arguments.Seconds(timeout); !ok {
			return o, false
		}
	}
	if o.session != "" {
		o.secret = getenv("SBX_SESSION_SECRET")
		if strings.ContainsFunc(o.secret, unicode.IsControl) {
			return o, false // no header can have it
		}
	}
	ok = o.here(getenv)
	return o, ok
}

// shell reads a shell's arguments.
func (o *order) shell(args []string, getenv func(string) string) (ok bool) {
	for _, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		switch flag {
		case "-h", "--help", "--user", "--socket-dir", "--state-dir", "--config":
			return false
		}
	}
	line, rest, ok := arguments.ShellLine(args)
	o.line, o.agent = line, arguments.ShellAgent(getenv)
	return ok && len(rest) <= 1 && strings.TrimSpace(line) != "" && o.here(getenv)
}

// here fills in the fields that depend on sbx's working directory.
func (o *order) here(getenv func(string) string) (ok bool) {
	if o.socketDir == "" {
		o.socketDir = getenv("SBX_SOCKET_DIR")
	}
	var err error
	if o.project, err = os.Getwd(); err != nil {
		return false
	}
	switch {
	case o.cwd == "":
		o.cwd = o.project
	case filepath.IsAbs(o.cwd):
		o.cwd = filepath.Clean(o.cwd)
	default:
		o.cwd = filepath.Join(o.project, o.cwd)
	}
	return true
}

// values takes flags off the front of args. It stops at "--" and at an argument that is no flag.
func values(args []string, texts map[string]*string, lists map[string]*[]string,
	switches map[string]*bool) ([]string, bool) {
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
		if !joined && len(args) == 0 {
			return args, false
		}
		if !joined {
			value, args = args[0], args[1:]
		}
		if value == "" { // sbx-verbs refuses it
			return args, false
		}
		if to := texts[name]; to != nil {
			*to = value
		} else if list := lists[name]; list != nil {
			*list = append(*list, value)
		} else {
			return args, false
		}
	}
	return args, true
}

// unset is a value that no argument can have.
const unset = "\x00"
