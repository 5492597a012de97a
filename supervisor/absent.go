package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/shell"
)

// absent reports whether the command that a person would be asked about does not exist: a name
// without a slash that is in none of the directories of PATH, which the sandbox shows as
// the host has them. If the sandbox hides one of them, or the request sets
// PATH itself, absent looks nothing up and the question is put: the answer reveals no more than ls in
// the sandbox, which runs unasked.
func absent(r ExecRequest, v shell.Verdict, p profile.Profile, env []string) bool {
	if v.Decision != shell.Ask || r.Line != "" || len(r.Argv) == 0 || r.callerRuns || r.Argv[0] == "" ||
		strings.Contains(r.Argv[0], "/") {
		return false
	}
	if _, own := r.Env["PATH"]; own {
		return false
	}
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	if i < 0 {
		return false
	}
	for _, dir := range filepath.SplitList(strings.TrimPrefix(env[i], "PATH=")) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if !filepath.IsAbs(dir) {
			return false
		}
		if shown := p.Allows(profile.OpList, filepath.Clean(dir)); !shown.Allowed || shown.Private {
			return false
		}
		if _, err := os.Lstat(filepath.Join(dir, r.Argv[0])); !os.IsNotExist(err) {
			return false
		}
	}
	return true
}

// notThere is the result of a command that is absent; shown lists the settings that would show it. Nothing was
// asked, and nothing ran.
func notThere(name string, shown []string) Result {
	text := strings.Join(append([]string{noCommand(name)}, shown...), "; ")
	return Result{Outcome: NotFound, Code: 127, Message: "Not run, and nobody was asked: " + text + "."}
}

func noCommand(name string) string {
	return "command not found: " + shell.Quote([]string{name}) + " (sbx profile show says what PATH is inside the sandbox)"
}
