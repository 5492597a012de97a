package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/approval"
	"sandboxd/profile/abspath"
)

// toolName is the stable name of the tool in requests and grants.
const toolName = "bash"

// prefixes lists the commands for which a grant may leave the further words open, because these
// change the operands but not the action. For all other commands only the exact request can be
// granted (R-SH-06).
var prefixes = [][]string{
	{"git", "add"}, {"git", "commit"}, {"git", "diff"}, {"git", "log"}, {"git", "show"}, {"git", "status"},
	{"git", "blame"}, {"git", "branch", "--list"}, {"git", "stash", "list"}, {"git", "fetch"}, {"git", "pull"},
	{"git", "switch"}, {"git", "restore", "--staged"},
	{"go", "build"}, {"go", "test"}, {"go", "vet"}, {"go", "run"}, {"go", "list"}, {"go", "mod", "tidy"},
	{"go", "mod", "download"}, {"go", "generate"}, {"go", "doc"}, {"gofmt"},
	{
		"npm",
		"test",
	}, {"npm", "run"}, {"npm", "ci"}, {"yarn", "test"}, {"yarn", "run"}, {"pnpm", "test"}, {"pnpm", "run"},
	{"npx", "tsc"}, {"npx", "eslint"}, {"npx", "jest"}, {"npx", "vitest"}, {"npx", "prettier"},
	{"cargo", "build"}, {"cargo", "check"}, {"cargo", "test"}, {"cargo", "clippy"}, {"cargo", "fmt"}, {"cargo", "run"},
	{"cargo", "doc"},
	{"make"}, {"cmake"}, {"ctest"}, {"ninja"}, {"pytest"}, {"python3", "-m", "pytest"}, {"python", "-m", "pytest"},
	{"ruff"}, {"mypy"}, {"black"}, {"docker", "ps"}, {"docker", "logs"}, {"docker", "images"}, {"kubectl", "get"},
	{"kubectl", "describe"}, {"kubectl", "logs"},
}

// suggest offers wider grants, narrow to wide. A dangerous, protected or hidden request has
// none, nor has a line that is not made of literal simple commands.
func (j *judging) suggest() {
	p := j.verdict.Payload
	if p["plain"] != true {
		return
	}
	asks, reads, _ := j.asking()
	if len(reads) > 0 {
		j.suggestReads(reads)
		return
	}
	if len(asks) != 1 {
		return
	}
	words := asks[0]
	for _, prefix := range prefixes {
		if len(words) < len(prefix) || !slices.Equal(words[:len(prefix)], prefix) {
			continue
		}
		// Offer npm run lint * before npm run *.
		if len(words) > len(prefix) &&
			(prefix[0] == "npm" || prefix[0] == "yarn" || prefix[0] == "pnpm" || prefix[0] == "make" || prefix[0] == "go") &&
			!strings.HasPrefix(words[len(prefix)], "-") &&
			plainWord(words[len(prefix)]) {
			j.offerPrefix(words[:len(prefix)+1])
		}
		j.offerPrefix(prefix)
		return
	}
}

func plainWord(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\n*?[]'\"\\$`")
}

// offerPrefix suggests a grant for words with any further words. The hashes of the files that
// the command executes remain part of the grant, so it asks again after they change.
func (j *judging) offerPrefix(words []string) {
	where := []approval.Condition{
		approval.Prefix("asks", words...),
		approval.Equal("plain", true),
		approval.Equal("cwd", j.cmd.Cwd),
	}
	if files, ok := j.verdict.Payload["files"]; ok {
		where = append(where, approval.Equal("files", files))
	}
	j.offer(strings.Join(words, " ")+" *", where, "line", "argv", "tty")
}

// CredentialsKey is the key of a payload with the files of credentials that a command reads which is contained but for
// these.
const CredentialsKey = "credentials"

// LetRead is the offer to let commands read files of credentials: it covers each command that is contained but for
// these files.
func LetRead(c Command, credentials []string) Suggestion {
	var names []string
	list := make([]any, len(credentials))
	for i, abs := range credentials {
		names, list[i] = append(names, c.show(abs)), abs
	}
	where := approval.Equal(CredentialsKey, list)
	if len(list) == 1 {
		where = approval.Under(CredentialsKey, credentials[0])
	}
	return Suggestion{Label: "let commands read " + strings.Join(names, ", ") + " here", Pattern: approval.Pattern{
		Tool: toolName, Where: []approval.Condition{where},
		Free: []string{"line", "argv", "cwd", "env", "asks", "reads", "paths", "files", "plain", "tty"},
	}}
}

func (j *judging) offer(label string, where []approval.Condition, free ...string) {
	if j.cmd.CallerRuns {
		where = append(where, approval.Equal("elsewhere", true))
	}
	p := approval.Pattern{Tool: toolName, Where: where, Free: free}
	if p.Validate() != nil || !p.Matches(toolName, j.verdict.Payload) {
		return
	}
	j.verdict.Suggestions = append(j.verdict.Suggestions, Suggestion{Label: label, Pattern: p})
}

// suggestReads offers the reading commands under the directory that they read, and under at
// most two directories above it (R-SH-06). Inside the project, the project is the last offer;
// outside, the path itself is the first. No offer contains the project or the home directory.
func (j *judging) suggestReads(reads []string) {
	paths := j.askedPaths()
	if len(paths) == 0 {
		return
	}
	dir := j.readBase(paths[0])
	for _, p := range paths[1:] {
		for dir != "/" && !abspath.Contains(dir, j.readBase(p)) {
			dir = path.Dir(dir)
		}
	}
	list := make([]any, len(reads))
	for i, r := range reads {
		list[i] = r
	}
	project := j.cmd.project()
	for range 3 {
		if dir == "/" || dir != project && abspath.Contains(dir, project) ||
			j.cmd.Home != "" && abspath.Contains(dir, j.cmd.Home) {
			return
		}
		where := []approval.Condition{
			approval.Equal("reads", list),
			approval.Under("paths", dir),
			approval.Equal("plain", true),
		}
		j.offer(strings.Join(reads, ", ")+j.readLabel(dir, paths), where, "line", "argv", "asks", "cwd", "tty")
		if dir == project {
			return
		}
		dir = path.Dir(dir)
	}
}

// readBase returns the narrowest offer for one path: a directory itself, the directory of a
// file of the project, and any path outside.
func (j *judging) readBase(p place) string {
	if p.dir || p.path == j.cmd.project() || !p.inside {
		return p.path
	}
	return path.Dir(p.path)
}

func (j *judging) readLabel(dir string, paths []place) string {
	switch {
	case dir != j.cmd.project() && slices.ContainsFunc(paths, func(p place) bool { return p.path == dir && !p.dir }):
		return " " + j.cmd.show(dir)
	case abspath.Contains(j.cmd.project(), dir) && dir != j.cmd.project():
		return " under " + j.cmd.show(dir) + "/"
	}
	return " under " + j.cmd.show(dir)
}
