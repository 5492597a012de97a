package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// typist is a person who types a document at a shell in tmux.
type typist struct {
	*actor
	env   string // of the shell: VARIABLE=value, separated by spaces
	block string // the text of the screen before the last block of commands
	typed string // and before the last command
}

// TestTutorial types docs/tutorial.md: each line of its sh blocks, each key that it says
// to press, and looks on the screen for each line of its text blocks.
func TestTutorial(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(string(doc))
	if len(steps) < 30 {
		t.Fatalf("docs/tutorial.md has %d steps: %v", len(steps), steps)
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		p := newTypist(a)
		for i, s := range steps {
			switch s.kind {
			case "sh":
				if p.typed = p.screen(); i == 0 || steps[i-1].kind != "sh" {
					p.block = p.typed
				}
				p.tmux("send-keys", "-l", s.text)
				p.tmux("send-keys", "Enter")
				if asks(steps[i+1:]) {
					p.wait("a question", p.asked)
				} else {
					p.prompt()
				}
			case "press":
				p.answer(strings.Fields(s.text))
			case "text":
				p.wait("the line "+s.text, func() bool { return strings.Contains(flat(p.output()), flat(s.text)) })
			}
		}
		if left, err := os.ReadDir(a.project + "/sbx-tutorial"); err == nil {
			t.Errorf("the tutorial left %v", left)
		}
	})
}

// TestReadmeSteps types the commands of README.md's ten minutes in a git project that has this tree's VERSION: those
// that ask by their comment are answered with yes. Each exits with 0.
func TestReadmeSteps(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	version, err := os.ReadFile("../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "\n## Ten minutes\n\n```sh\n")
	lines, _, _ := strings.Cut(rest, "\n```\n")
	if strings.Count(lines, "\n") < 5 {
		t.Fatalf("README.md has these steps: %q", lines)
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		p := newTypist(a)
		p.typeLine("mkdir ~/shop && cd ~/shop && git init -q .", false)
		p.typeLine("echo "+strings.TrimSpace(string(version))+" > VERSION", false)
		for line := range strings.Lines(lines) {
			command, comment, _ := strings.Cut(strings.TrimSpace(line), " #")
			p.typeLine(command+" && echo done''.", strings.Contains(comment, "asks"))
			p.wait("the end of "+command, func() bool {
				return strings.Count(p.screen(), "done.") > strings.Count(p.typed, "done.")
			})
		}
	})
}

// newTypist starts the shell in tmux, with the actor's project as its home.
func newTypist(a *actor) *typist {
	p := &typist{
		actor: a,
		env:   "HOME=" + a.project + " XDG_RUNTIME_DIR=" + a.dir + " SBX_STATE_DIR=" + a.stateDir(),
	}
	a.t.Cleanup(func() {
		p.sbx("--socket-dir", a.dir+"/sandboxd", "stop", "--now")
		p.tmux("kill-server")
	})
	shell := "env -u SBX_SOCKET_DIR " + p.env + " TERM=screen PS1='$ ' PATH=" + bin + ":$PATH bash --norc --noprofile"
	p.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "60", shell)
	p.prompt()
	return p
}

// typeLine types a line and waits for the prompt, or answers its question with yes.
func (p *typist) typeLine(line string, asks bool) {
	p.t.Helper()
	p.typed = p.screen()
	p.tmux("send-keys", "-l", line)
	p.tmux("send-keys", "Enter")
	if !asks {
		p.prompt()
		return
	}
	p.wait("a question", p.asked)
	p.answer([]string{"y", "Enter"})
}

// step is a line to type ("sh"), keys to press, or a line that the screen shows ("text").
type step struct{ kind, text string }

// asks reports whether the keys to press come before the next line to type.
func asks(next []step) bool {
	i := slices.IndexFunc(next, func(s step) bool { return s.kind != "text" })
	return i >= 0 && next[i].kind == "press"
}

var (
	block = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$|[Pp]ress ((?:`[A-Za-z0-9]+`(?:, then )?)+)")
	key   = regexp.MustCompile("`([A-Za-z0-9]+)`")
)

func stepsOf(doc string) []step {
	var steps []step
	for _, m := range block.FindAllStringSubmatch(doc, -1) {
		if m[3] != "" {
			var keys []string
			for _, k := range key.FindAllStringSubmatch(m[3], -1) {
				keys = append(keys, k[1])
			}
			steps = append(steps, step{"press", strings.Join(keys, " ")})
		}
		for line := range strings.Lines(m[2]) {
			if line = strings.TrimSpace(line); line != "" {
				steps = append(steps, step{m[1], line})
			}
		}
	}
	return steps
}

// flat is text without white space, however the terminal wrapped it.
func flat(text string) string { return strings.Join(strings.Fields(text), "") }

func (p *typist) tmux(args ...string) string {
	r := p.do(nil, "tmux", append([]string{"-u", "-S", filepath.Join(p.dir, "tmux")}, args...)...)
	return r.out
}

// screen is the terminal's text with all that has scrolled out of it.
func (p *typist) screen() string {
	return strings.TrimRight(p.tmux("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

// output is the screen's text since the last block of commands, without the commands.
func (p *typist) output() string {
	after, ok := strings.CutPrefix(p.screen(), p.block)
	if !ok {
		p.t.Fatalf("the screen lost what it had:\n%s\nit is\n%s", p.block, after)
	}
	return typedLine.ReplaceAllString("$"+after, "")
}

var typedLine = regexp.MustCompile(`(?m)^\$ .*$`)

// wait waits for a condition, at most a minute.
func (p *typist) wait(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s did not come; the screen is\n%s", what, p.screen())
		}
	}
}

// prompt waits until the shell takes the next line.
func (p *typist) prompt() {
	p.t.Helper()
	p.wait("a prompt", func() bool {
		s := p.screen()
		return s != p.typed && (s == "$" || strings.HasSuffix(s, "\n$"))
	})
}

// asked reports whether a question is open.
func (p *typist) asked() bool {
	r := p.sbx("--socket-dir", p.dir+"/sandboxd", "pending", "--json")
	var pending struct{ Approvals []json.RawMessage }
	return r.code == 0 && json.Unmarshal([]byte(r.out), &pending) == nil && len(pending.Approvals) > 0
}

// answer presses keys at a question until it has ended: keys count half a second after the
// question, or a change of it, is on the screen.
func (p *typist) answer(keys []string) {
	p.t.Helper()
	if !p.asked() {
		p.t.Fatalf("no question waits for the keys %v; the screen is\n%s", keys, p.screen())
	}
	for range 5 {
		time.Sleep(time.Second)
		for _, k := range keys {
			p.tmux("send-keys", k)
			time.Sleep(800 * time.Millisecond)
		}
		for range 40 {
			if !p.asked() {
				p.prompt()
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		p.tmux("send-keys", "Escape")
	}
	p.t.Fatalf("the keys %v did not answer; the screen is\n%s", keys, p.screen())
}
