package shell

import (
	"fmt"
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

// describe sets the one-line description of the command.
func (j *judging) describe() {
	v := &j.verdict
	asking, text := 0, ""
	for _, c := range j.script.Calls {
		state := j.calls[c]
		if state == nil || state.decision == Auto || len(c.Args) == 0 {
			continue
		}
		if len(c.Via) > 0 && asking > 0 {
			continue // the text of the wrapper includes it
		}
		asking++
		if asking == 1 {
			text = orElse(state.description, sentence(c))
		}
	}
	total := 0
	for _, c := range j.script.Calls {
		if len(c.Via) == 0 && len(c.Args) > 0 {
			total++
		}
	}
	line := oneLine(j.script.Text)
	switch {
	case asking == 0:
		v.Description = "Run: " + line
	case asking == 1 && total <= 1:
		v.Description = text
	case asking == 1:
		v.Description = fmt.Sprintf("%s (one of %d commands)", text, total)
	default:
		v.Description = fmt.Sprintf("Run %d commands, %d of which ask: %s", max(total, asking), asking, line)
	}
	for _, r := range j.script.Redirs {
		if r.Kind == analysis.RedirWrite {
			v.Description += "; write " + oneLine(orElse(r.Target.Source, "a file"))
			break
		}
	}
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
