// Package arguments parses the command lines of `sbx run` and `sbx shell`, for both
// programs that implement them. It links next to nothing.
package arguments

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Seconds reads a time; a number alone counts seconds.
func Seconds(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	if n, nerr := strconv.ParseFloat(text, 64); nerr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	return d, err == nil && d > 0
}

// Environment reads the --env flags.
func Environment(flags []string) (map[string]string, error) {
	env := map[string]string{}
	for _, f := range flags {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			value, ok = os.LookupEnv(name)
			if !ok {
				continue // not set here either
			}
		}
		if name == "" || strings.ContainsRune(f, 0) {
			return nil, errors.New("--env " + strconv.Quote(f) + ": want NAME=VALUE")
		}
		env[name] = value
	}
	return env, nil
}

// IsShell reports whether a program that was called by that name plays a shell: by that
// of a link, sbx-shell.
func IsShell(name string) bool { return filepath.Base(strings.TrimPrefix(name, "-")) == "sbx-shell" }

// ShellAgent is what the program that calls a shell calls itself.
func ShellAgent(getenv func(string) string) string {
	if name := filepath.Base(getenv("SBX_AGENT_NAME")); name != "." {
		return name
	}
	return ""
}

// ShellLine finds the line in a shell's arguments. Flags may be joined, as in
// -lc; options with a value (-o pipefail) are left out with their value.
func ShellLine(args []string) (line string, rest []string, ok bool) {
	wanted := false
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			args = args[1:]
			break
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") || a == "-" {
			break
		}
		args = args[1:]
		if strings.HasPrefix(a, "--") {
			continue // --norc, --noprofile, --login, --posix
		}
		wanted = wanted || strings.Contains(a, "c")
		if strings.HasSuffix(a, "o") && len(args) > 0 {
			args = args[1:]
		}
	}
	if !wanted || len(args) == 0 {
		return "", nil, false
	}
	return args[0], args[1:], true
}
