package shell

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sandboxd/shell/analysis"
)

// verbs maps common commands to descriptions; %s is replaced by the operands.
var verbs = map[string]string{
	"rm": "Delete %s", "rmdir": "Delete the directory %s", "unlink": "Delete %s", "shred": "Destroy %s",
	"mkdir": "Make the directory %s", "touch": "Create or touch %s",
	"cp": "Copy %s", "mv": "Move %s", "ln": "Link %s", "chmod": "Change the mode of %s",
	"chown": "Change the owner of %s", "tee": "Write its input to %s",
	"curl": "Use the network: curl %s", "wget": "Use the network: wget %s", "ssh": "Log in on another machine: ssh %s",
	"scp": "Copy to or from another machine: scp %s", "rsync": "Synchronise %s",
	"kill": "Signal process %s", "pkill": "Signal processes named %s", "killall": "Signal processes named %s",
	"make": "Run the Makefile: make %s", "sudo": "As another user: %s",
	"npm install": "Install npm packages %s", "npm i": "Install npm packages %s", "npm ci": "Install npm packages %s",
	"npm publish": "Publish to the npm registry %s", "pip install": "Install Python packages %s",
	"pip3 install": "Install Python packages %s",
	"apt install":  "Install system packages %s", "apt-get install": "Install system packages %s",
	"brew install": "Install packages %s", "cargo install": "Install crates %s", "go get": "Fetch Go modules %s",
	"go install": "Install Go programs %s",
	"git push":   "Push to a remote: git push %s", "git pull": "Fetch and merge from a remote: git pull %s",
	"git fetch": "Fetch from a remote: git fetch %s", "git clone": "Clone a repository: git clone %s",
	"git commit": "Commit: git commit %s",
	"git add":    "Stage %s", "git reset": "Reset: git reset %s", "git checkout": "Check out %s",
	"git clean": "Delete untracked files: git clean %s", "git rebase": "Rebase: git rebase %s", "git merge": "Merge %s",
	"git stash":  "Put changes aside: git stash %s",
	"docker run": "Run a container: %s", "docker exec": "Run in a container: %s",
}

const maxShown = 160 // in characters of a command

// maxPhrases bounds the phrases of a description.
const maxPhrases = 3

// describe sets the one-line description of the command: in words, what its parts that ask do.
func (j *judging) describe() {
	var phrases []string
	add := func(s string) {
		if !slices.Contains(phrases, s) {
			phrases = append(phrases, s)
		}
	}
	for _, c := range j.script.Calls {
		state := j.calls[c]
		if state == nil || state.decision == Auto || len(c.Args) == 0 || len(c.Via) > 0 && len(phrases) > 0 {
			continue // the text of a wrapper includes what it starts
		}
		add(j.withAddress(c, orElse(state.description, sentence(c))))
	}
	var written []string
	for _, r := range j.script.Redirs {
		if target := orElse(r.Target.Source, "a file"); r.Kind == analysis.RedirWrite && !slices.Contains(written, target) {
			written = append(written, target)
		}
	}
	switch n := len(written); {
	case n == 1:
		add("Write " + oneLine(written[0]))
	case n > 1 && sameDir(written):
		add(fmt.Sprintf("Write %d files in %s/", n, oneLine(path.Dir(written[0]))))
	case n > 1:
		add(fmt.Sprintf("Write %d files", n))
	}
	if len(phrases) == 0 {
		add("Run: " + oneLine(j.script.Text))
	}
	if n := len(phrases) - maxPhrases; n > 0 {
		phrases = append(phrases[:maxPhrases], fmt.Sprintf("%d more", n))
	}
	j.verdict.Description = strings.Join(phrases, " · ")
	if len(phrases) > 1 || len(written) > 0 { // grants and records show the command by its description
		j.verdict.Description += ": " + oneLine(j.script.Text)
	}
}

// sameDir reports whether all names are in one directory that they name.
func sameDir(names []string) bool {
	dir := path.Dir(names[0])
	return dir != "." && !slices.ContainsFunc(names, func(s string) bool { return path.Dir(s) != dir })
}

// sentence returns the description of one call.
func sentence(c *analysis.Call) string {
	name := base(c.Name())
	args := c.Args[1:]
	format, ok := "", false
	if len(args) > 0 && args[0].Known() {
		if format, ok = verbs[name+" "+args[0].Text]; ok {
			args = args[1:]
		}
	}
	if !ok {
		format, ok = verbs[name]
	}
	if !ok {
		return "Run: " + oneLine(callText(c))
	}
	var words []string
	for _, a := range args {
		if strings.HasPrefix(format, "Delete") && strings.HasPrefix(a.Text, "-") {
			continue
		}
		words = append(words, a.Source)
	}
	return oneLine(strings.TrimRight(strings.TrimSpace(strings.Replace(format, "%s", strings.Join(words, " "), 1)), ": "))
}

// oneLine shortens text to one line and states the number of omitted lines or characters. The
// renderer escapes control characters.
func oneLine(s string) string {
	s = strings.TrimSpace(s)
	if lines := strings.Count(s, "\n"); lines > 0 {
		first, _, _ := strings.Cut(s, "\n")
		s = strings.TrimSpace(first) + " … (" + strconv.Itoa(lines+1) + " lines)"
	}
	if len(s) <= maxShown {
		return s
	}
	at := 0
	for i := range s {
		if at == maxShown {
			return s[:i] + fmt.Sprintf("… (%d more characters)", utf8.RuneCountInString(s[i:]))
		}
		at++
	}
	return s
}
