package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// The screens of testdata/screen are what tmux shows when the real sbx asks. A
// reviewer reads them; go test ./cmd/sbx -run TestScreen -update writes them anew.
var update = flag.Bool("update", false, "write the golden screens anew")

// desk is an approver at a terminal, whose daemon is an office.
type desk struct {
	*termtest.Tmux
	*office
	t     *testing.T
	typed time.Time           // when the last key was pressed
	clean func(string) string // takes out what differs every time; nil: nothing does
}

// shown is the screen without what differs every time.
func (d *desk) shown() string {
	if d.clean == nil {
		return d.Screen()
	}
	return d.clean(d.Screen())
}

// Press types as a person does: an Enter that comes together with other keys
// is taken for a paste.
func (d *desk) Press(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		if k == "Enter" {
			time.Sleep(time.Until(d.typed.Add(700 * time.Millisecond)))
		}
		d.Tmux.Press(k)
		d.typed = time.Now()
	}
}

// step presses a key; "?…" waits until the screen matches, "+" until keys count.
func (d *desk) step(k string) {
	d.t.Helper()
	if want, ok := strings.CutPrefix(k, "?"); ok {
		d.Wait(want)
	} else if k == "+" {
		settle()
	} else {
		d.Press(k)
	}
}

// sit starts `sbx approve ARGS` with questions to answer.
func sit(t *testing.T, cols, rows int, o *office, env []string, args string) *desk {
	t.Helper()
	house := ipctest.Start(t, o, ipc.Limits{})
	return sitAt(t, house.Dir, cols, rows, o, env, args)
}

func sitAt(t *testing.T, dir string, cols, rows int, o *office, env []string, args string) *desk {
	t.Helper()
	bin := filepath.Join(build(t), "sbx")
	env = append([]string{"SBX_SOCKET_DIR=" + dir, "SBX_STATE_DIR=" + t.TempDir()}, env...)
	m := termtest.OpenTmux(t, cols, rows, env, bin+" approve "+args+" 2>/dev/null")
	return &desk{Tmux: m, office: o, t: t}
}

// golden wants the screen to become what the file of that name holds.
func (d *desk) golden(name string) {
	d.t.Helper()
	file := filepath.Join("testdata", "screen", name+".txt")
	if *update {
		screen := d.shown()
		for quiet := 0; quiet < 10; time.Sleep(100 * time.Millisecond) {
			now := d.shown()
			if quiet++; now != screen {
				screen, quiet = now, 0
			}
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(screen), 0o644); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	screen := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(60 * time.Millisecond) {
		if screen = d.shown(); screen == string(want) {
			return
		}
	}
	d.t.Errorf("%s: the screen is\n%swant\n%s", file, screen, want)
}

// settle waits until keys count.
func settle() { time.Sleep(settleFor) }

// settleFor is more than the half second for which no key counts.
const settleFor = 900 * time.Millisecond

// request is one of medium risk, with all that is usual.
func request(change ...func(*ipc.Approval)) ipc.Approval {
	q := ipc.Approval{ID: "a-1", Rev: 1, Hash: "h1", Session: "s-1", Tool: "bash", Description: "Run: npm install", Command: "npm install left-pad --save-dev && echo 'done'",
		Cwd: "/home/ann/web", Root: "/home/ann/web", Risk: "medium", Reasons: []string{"no rule allows npm install"}, Rule: "default",
		Agent: "reviewer", Claimed: true, Label: "nightly build", PID: 4711, Exe: "/usr/bin/agent", Scopes: []string{"once", "turn", "session", "agent", "global"},
		Enforcement: &ipc.Enforcement{Level: ipc.Enforced, Layers: []ipc.Layer{{Name: "bwrap", Active: true}, {Name: "landlock", Active: true}, {Name: "seccomp", Active: true}}},
		Sandbox:     []string{"write: /home/ann/web", "read: the system and /home/ann/web; not your home, nor 30 hidden places", "network: none"},
		Suggestions: []ipc.Suggestion{{ID: "1", Label: "npm install left-pad *", Past: &ipc.Past{Matched: 2, Asked: 2, Of: 120, Examples: []string{"npm install left-pad", "npm install left-pad --save"}}},
			{ID: "2", Label: "npm install *", Past: &ipc.Past{Matched: 9, Asked: 7, Of: 120, Examples: []string{"npm install left-pad", "npm install react react-dom", "npm install"}}}},
		Past:    &ipc.Past{Matched: 1, Asked: 1, Of: 120, Examples: []string{"npm install left-pad --save-dev && echo 'done'"}},
		Created: time.Now().Add(-10 * time.Hour), Presentation: &ipc.Presentation{Kind: "command", Metadata: map[string]string{"marks": "0-32"}}}
	for _, f := range change {
		f(&q)
	}
	return q
}

func low(q *ipc.Approval) {
	q.Risk, q.Command, q.Suggestions, q.Presentation = "low", "git fetch origin", nil, nil
	q.Reasons = []string{"it reaches the network"}
}

func danger(q *ipc.Approval) {
	q.Risk, q.Dangerous, q.Outside, q.Confirm, q.Command = "high", true, true, true, "rm -rf ../build /var/cache/x"
	q.Reasons, q.Rule = []string{"it deletes directories with all that is in them", "/var/cache/x is outside the project"}, "dangerous: recursive delete"
	q.Scopes, q.Suggestions = []string{"once"}, nil
	q.Presentation = &ipc.Presentation{Kind: "command", Metadata: map[string]string{"marks": "0-28"}}
}

func deletes(q *ipc.Approval) {
	q.Tool, q.Command, q.Description, q.Risk = "delete", "", "Delete plugins/old_plugin.py", "high"
	q.Delete, q.Confirm, q.Scopes, q.Suggestions = true, true, []string{"once"}, nil
	q.Reasons, q.Rule = []string{"deletions always ask"}, "files: delete"
	q.Input = []byte(`{"path":"plugins/old_plugin.py"}`)
	q.Presentation = nil
}

func batch(q *ipc.Approval) {
	q.Command, q.Presentation, q.Suggestions = "npm install", nil, nil
	q.Batch = &ipc.BatchPlace{ID: "b", Index: 0, Total: 3, Remaining: []ipc.NextCall{{Tool: "write_file", Command: "config.json"}, {Tool: "bash", Command: "npm run build"}}}
}

func diff(q *ipc.Approval) {
	q.Tool, q.Command, q.Description, q.Suggestions = "edit", "", "Edit notes/report.md", nil
	q.Rule, q.Reasons = "files: write_approval", []string{"writes to notes/ ask"}
	q.Presentation = &ipc.Presentation{Kind: "diff", Content: "@@ -1,3 +1,5 @@\n # Weekly Report\n-## Summary\n+## Executive Summary\n+Key findings from this week: the quick brown fox jumps over the lazy dog, twice, without any haste.\n"}
}

func long(q *ipc.Approval) {
	var b strings.Builder
	for i := 1; i <= 70; i++ {
		b.WriteString("echo line " + strconv.Itoa(i) + "\n")
	}
	q.Command, q.Presentation, q.Suggestions = b.String(), nil, nil
}

func widening(q *ipc.Approval) {
	q.Widenings = []ipc.Widening{{ID: "1", Kind: "path", Object: "/home/ann/cache", Access: "write", Label: "write to /home/ann/cache"}}
}

// R-UX-01, R-UX-02: the screen of each kind of question at every width, and while the
// terminal is resized.
func TestScreenWidths(t *testing.T) {
	for name, change := range map[string]func(*ipc.Approval){
		"medium": func(*ipc.Approval) {}, "low": low, "danger": danger, "delete": deletes, "batch": batch, "diff": diff, "long": long, "widening": widening,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, 120, 60, newOffice(request(change)), nil, "")
			d.Wait("min old")
			for _, cols := range []int{120, 24, 40, 60, 250} {
				d.Resize(cols, 60)
				d.golden(name + "-" + strconv.Itoa(cols))
			}
		})
	}
}

// keys is a question, what is typed at it, and what the daemon must hear.
type keys struct {
	name   string
	change func(*ipc.Approval)
	press  []string // steps
	want   ipc.Answer
}

// R-UX-01, and the terminal dialog of the specifications: every key.
func TestScreenKeys(t *testing.T) {
	none := func(*ipc.Approval) {}
	soft := func(note string) ipc.Answer { return ipc.Answer{Mode: "soft", Note: note} }
	allow := func(scope string) ipc.Answer { return ipc.Answer{Allow: true, Scope: scope} }
	for _, c := range []keys{
		{"y", none, []string{"y", "?> 1. Execute once", "Enter"}, allow("once")},
		{"Y", none, []string{"Y", "?> 1. Execute once", "Enter"}, allow("once")},
		{"s", none, []string{"s", "?> 2. Allow for this session", "Enter"}, allow("session")},
		{"n", none, []string{"n", "?> 4. Deny:", "Enter"}, soft("")},
		{"q", none, []string{"q", "?> 5. Quit", "Enter"}, ipc.Answer{Mode: "hard"}},
		{"v and back", none, []string{"v", "?> 6. View all", "Enter", "?all of it", "+", "q", "?1-6 quick", "+", "y", "?> 1", "Enter"}, allow("once")},
		{"Enter alone at medium risk", none, []string{"Enter"}, soft("")},
		{"Enter alone at low risk", low, []string{"?>1 Execute once", "Enter"}, allow("once")},
		{"Enter alone at high risk", danger, []string{"Enter"}, soft("")},
		{"digit", none, []string{"1"}, allow("once")},
		{"digit of the session", none, []string{"2"}, allow("session")},
		{"digit of a widening", widening, []string{"2"}, ipc.Answer{Allow: true, Scope: "once", Widening: "1"}},
		{"arrows up", none, []string{"Up", "?> 3. Always", "Up", "?> 2", "Up", "?> 1", "Enter"}, allow("once")},
		{"arrows around", none, []string{"Down", "?> 5", "Down", "?> 6", "Down", "?> 1", "Enter"}, allow("once")},
		{"arrow at high risk", danger, []string{"Down", "?> 1", "Up", "?> 4", "Up", "?> 3", "Up", "?> 2", "Enter"}, soft("")},
		{"Ctrl-C", none, []string{"y", "?> 1", "C-c"}, soft("cancelled")},
		{"Ctrl-D", none, []string{"C-d"}, soft("cancelled")},
		{"reason that begins with a, not on offer", none, []string{`"always ask me first"`, "?Deny: always ask me first", "Enter"}, soft("always ask me first")},
		{"reason that begins with a, on offer", batch, []string{"a", "?> 3. Allow all 3", `"lways ask me first"`, "?Deny: always ask me first", "Enter"}, soft("always ask me first")},
		{"reason that begins with s", none, []string{`"stop"`, "?Deny: stop", "Enter"}, soft("stop")},
		{"reason that begins with y", none, []string{`"yes but not now"`, "?> 4. Deny: yes but not now", "Enter"}, soft("yes but not now")},
		{"reason that begins with q", none, []string{`"quietly please"`, "?Deny: quietly please", "Enter"}, soft("quietly please")},
		{"reason that begins with n", none, []string{`"not like this"`, "?Deny: not like this", "Enter"}, soft("not like this")},
		{"reason that begins with v", none, []string{`"very odd"`, "?Deny: very odd", "Enter"}, soft("very odd")},
		{"reason with another letter", none, []string{`"use pnpm"`, "?> 4. Deny: use pnpm", "Enter"}, soft("use pnpm")},
		{"reason with digits", none, []string{`"go 1.26 2"`, "?Deny: go 1.26 2", "Enter"}, soft("go 1.26 2")},
		{"Backspace", none, []string{`"use pnpmx"`, "?pnpmx", "BSpace", "?pnpm  ", "Enter"}, soft("use pnpm")},
		{"Backspace to nothing", low, []string{`"xy"`, "?Deny: xy", "BSpace", "BSpace", "?>1 Execute", "Enter"}, allow("once")},
		{"Esc clears the reason", none, []string{`"use pnpm"`, "?use pnpm", "Escape", "?Deny:  ", "Enter"}, soft("")},
		{"Esc clears a letter", none, []string{"y", "?> 1", "Escape", "?> 4", "Enter"}, soft("")},
		{"all of a batch", batch, []string{"a", "?> 3", "Enter"}, allow("batch")},
		{"quit a batch", batch, []string{"q", "?> 6. Quit: deny, cancel", "Enter"}, ipc.Answer{Mode: "hard", Scope: "batch"}},
		{"chooser", none, []string{"3", "?1 of the last 120", "+", "Down", "?> npm install left-pad", "Down", "?> npm install \\*", "Right", "?always, for this agent", "Tab", "?for 30 minutes", "Enter"},
			ipc.Answer{Allow: true, Scope: "agent", Suggestion: "2", ForMS: 1_800_000}},
		{"chooser left again", none, []string{"3", "?in this session", "+", "Escape", "?1-6 quick", "+", "Enter"}, soft("")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, 80, 40, newOffice(request(c.change)), nil, "--once")
			d.Wait("min old")
			settle()
			for _, k := range c.press {
				d.step(k)
			}
			c.want.ID, c.want.Rev, c.want.Hash = "a-1", 1, "h1"
			if got := d.sent(1); len(got) != 1 || got[0] != c.want {
				t.Errorf("sent %+v, want %+v\n%s", got, c.want, d.Screen())
			}
			if !c.want.Allow || c.change == nil {
				return
			}
			if code := d.Status(); code != 0 {
				t.Errorf("exit status %d", code)
			}
		})
	}
}

// nothing reports whether no answer has come although there was time for one.
func (d *desk) nothing(when string) {
	d.t.Helper()
	settle()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.answers) != 0 {
		d.t.Errorf("%s: %+v was sent", when, d.answers)
	}
}

// R-UX-01: nothing that was typed before a card appeared or changed counts, nor
// what is pasted, nor what a terminal reports of itself.
func TestScreenTypeAhead(t *testing.T) {
	t.Parallel()
	o := newOffice(request(low)) // at low risk Enter alone is a yes
	house := ipctest.Start(t, o, ipc.Limits{})
	bin := filepath.Join(build(t), "sbx")
	env := []string{"SBX_SOCKET_DIR=" + house.Dir, "SBX_STATE_DIR=" + t.TempDir()}
	m := termtest.OpenTmux(t, 80, 30, env, "echo wait; sleep 1; exec "+bin+" approve")
	d := &desk{Tmux: m, office: o, t: t}
	d.Wait("wait")
	d.Tmux.Press("1", "Enter", "y", "Enter")
	d.Wait("min old")
	d.nothing("typed before the screen was there")

	// Typed at the very moment at which a card changes, or another comes.
	for rev := 2; rev < 5; rev++ {
		o.put(request(low, func(q *ipc.Approval) {
			q.Rev, q.Hash, q.Command = rev, "h"+strconv.Itoa(rev), "git push --force origin "+strconv.Itoa(rev)
		}))
		d.Wait("origin " + strconv.Itoa(rev))
		d.Tmux.Press("1", "Enter")
		d.nothing("typed as the card changed")
	}

	// Pasted, marked as such or not; what a terminal reports of itself.
	d.Paste("1\n", true)
	d.Paste("y\n1\n", true)
	d.nothing("pasted")
	d.Press("Escape")
	d.Raw("1b", "5b", "49") // focus in
	d.Raw("1b", "5b", "4f") // focus out
	d.Raw("1b", "5b", "3c", "30", "3b", "33", "3b", "34", "4d")
	d.nothing("reports of the terminal")
	d.Paste("use pnpm\n", false)
	d.nothing("pasted without a mark")

	// Resized: what is on the screen has changed.
	d.Press("Escape")
	d.Wait(">1 Execute once")
	d.Resize(50, 20)
	d.Wait("min old")
	settle()
	d.Press("Enter")
	if got := d.sent(1); len(got) != 1 || !got[0].Allow {
		t.Errorf("sent %+v, want a yes from the one Enter that counts", got)
	}
}

// R-AP-13: the second yes is two words that are on the screen.
func TestScreenSecondYes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*ipc.Approval)
		words  func(code string) string
		want   ipc.Answer
	}{
		{"delete", deletes, func(code string) string { return code }, ipc.Answer{Allow: true, Scope: "once", Confirm: true}},
		{"danger, in capitals", danger, strings.ToUpper, ipc.Answer{Allow: true, Scope: "once", Confirm: true}},
		{"yes is not enough", danger, func(string) string { return "yes" }, ipc.Answer{Mode: "soft", Note: "not confirmed"}},
		{"nothing", danger, func(string) string { return "" }, ipc.Answer{Mode: "soft", Note: "not confirmed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, 60, 40, newOffice(request(c.change)), nil, "--once")
			d.Wait("min old")
			settle()
			d.Press("1") // a digit alone answers nothing here
			d.Wait("> 1.")
			d.nothing("a digit at high risk")
			d.Press("Enter")
			lines := strings.Split(d.Wait("two words: +│$"), "\n")
			at := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "two words:") })
			code := strings.Trim(lines[at+1], "│ ")
			if len(strings.Fields(code)) != 2 {
				t.Fatalf("no two words on the screen:\n%s", d.Screen())
			}
			d.Tmux.Press("Enter") // too early
			settle()
			d.Wait("two words: +│$")
			if words := c.words(code); words != "" {
				d.Press(strconv.Quote(words))
				d.Wait("> (?i)" + words)
			}
			d.Press("Enter")
			c.want.ID, c.want.Rev, c.want.Hash = "a-1", 1, "h1"
			if got := d.sent(2); len(got) != 2 || got[1] != c.want || got[0].Confirm {
				t.Errorf("sent %+v, want a yes and then %+v\n%s", got, c.want, d.Screen())
			}
		})
	}
}

// What does not fit is scrolled, and cannot be allowed before all of it was on
// the screen; the whole view shows what the card leaves out.
func TestScreenLong(t *testing.T) {
	t.Parallel()
	d := sit(t, 60, 30, newOffice(request(long)), nil, "--once")
	d.Wait("min old")
	settle()
	d.golden("long-first")
	d.Press("1")
	d.Wait("Not all of it has been on the screen")
	d.golden("long-refused")
	d.Press("End")
	d.Wait("20 more lines: v shows them")
	d.Press("1")
	d.Wait("Not all of it has been on the screen")
	d.Press("v")
	d.Wait("> 6. View all")
	d.Press("Enter")
	d.Wait("all of it")
	settle()
	d.golden("long-all")
	for range 6 {
		d.Press("PageDown")
	}
	d.Wait("echo line 70")
	d.Press("q")
	d.Wait("1-6 quick")
	settle()
	d.Press("1")
	if got := d.sent(1); len(got) != 1 || !got[0].Allow {
		t.Errorf("sent %+v, want a yes", got)
	}
}

// A terminal that is too small says so, and answers nothing but no.
func TestScreenTooSmall(t *testing.T) {
	t.Parallel()
	d := sit(t, 20, 8, newOffice(request()), nil, "--once")
	d.Wait("small to show it")
	settle()
	d.golden("too-small")
	d.Press("1", "y", "Escape")
	d.nothing("on a terminal that is too small")
	d.Resize(24, 24)
	d.Wait("1-[0-9]+ of 31")
	d.golden("small")
}

// R-AP-10: the summaries of "approve all" and "quit".
func TestScreenBatch(t *testing.T) {
	for _, c := range []struct{ key, option, name string }{{"a", "> 3", "batch-approved"}, {"q", "> 6", "batch-quit"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			second := func(q *ipc.Approval) { batch(q); q.Batch.Index, q.Batch.Remaining = 1, q.Batch.Remaining[1:] }
			d := sit(t, 70, 40, newOffice(request(second)), nil, "--once")
			d.Wait("min old")
			settle()
			d.Press(c.key)
			d.Wait(c.option)
			d.Press("Enter")
			if code := d.Status(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			d.golden(c.name)
		})
	}
}

// R-AP-21: the last answer is taken back as far as that goes.
func TestScreenUndo(t *testing.T) {
	t.Parallel()
	o := newOffice(request(), request(func(q *ipc.Approval) { q.ID, q.Command, q.Session = "a-2", "npm run build", "s-2" }))
	d := sit(t, 80, 40, o, nil, "")
	d.Wait("2 requests")
	settle()
	d.golden("queue-two")
	d.Press("2")
	d.Wait("npm run build")
	d.Press("C-z")
	d.Wait(`Undone: the grant g-1 is withdrawn`)
	settle()
	d.golden("queue-undone")
	d.Press("q")
	d.Wait("> 5")
	d.Press("Enter")
	d.Wait("nothing waits")
	d.Press("C-z")
	d.Wait("Undone: the session goes on")
	d.Press("C-z")
	d.Wait("There is no answer to undo")
	d.golden("queue-empty")
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.Join(o.revoked, " ") != "g-1" || strings.Join(o.resumed, " ") != "s-2" {
		t.Errorf("revoked %q and resumed %q, want g-1 and s-2", o.revoked, o.resumed)
	}
}

// "Always allow…" shows what each wider grant would have covered.
func TestScreenChooser(t *testing.T) {
	t.Parallel()
	d := sit(t, 80, 44, newOffice(request()), nil, "")
	d.Wait("min old")
	settle()
	d.Press("3")
	d.Wait("Allows exactly this request")
	settle()
	d.golden("chooser-exact")
	d.Press("Down", "Down", "Right", "Right", "Tab", "Tab", "Tab")
	d.Wait("life:  for 30 days")
	d.golden("chooser-wide")
	d.Resize(30, 44)
	d.golden("chooser-30")
}

// The first valid answer wins, and the other approver is told (R-AP-15). An
// approver that is killed has answered nothing (R-AP-14).
func TestScreenTwoApprovers(t *testing.T) {
	t.Parallel()
	o := newOffice(request())
	house := ipctest.Start(t, o, ipc.Limits{})
	one := sitAt(t, house.Dir, 80, 40, o, nil, "")
	two := sitAt(t, house.Dir, 80, 40, o, nil, "")
	dead := sitAt(t, house.Dir, 80, 40, o, nil, "")
	for _, d := range []*desk{one, two, dead} {
		d.Wait("min old")
	}
	settle()
	dead.Press("y")
	dead.Wait("> 1.")
	dead.Close()
	one.nothing("after an approver was killed")
	two.Press("y")
	two.Wait("> 1.")
	one.Press("1")
	two.Wait("already decided by uid 0")
	two.golden("answered-elsewhere")
	if got := o.sent(1); len(got) != 1 {
		t.Errorf("sent %+v, want one answer", got)
	}
}

// R-AP-14: no answer in time is a no, and it says so.
func TestScreenTimeout(t *testing.T) {
	t.Parallel()
	d := sit(t, 80, 40, newOffice(request(func(q *ipc.Approval) {
		end := time.Now().Add(4 * time.Second)
		q.Deadline = &end
	})), nil, "--once")
	d.Wait("[0-9] s left")
	d.Press("y")
	if code := d.Status(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	d.Wait("No answer in time: that is a no.")
	if d.office.mu.Lock(); len(d.answers) != 0 {
		t.Errorf("sent %+v", d.answers)
	}
	d.office.mu.Unlock()
}

// --plain asks line by line and writes no escape sequence; NO_COLOR writes none
// for colour; a terminal that is not known to be UTF-8 gets ASCII.
func TestScreenPlain(t *testing.T) {
	t.Parallel()
	d := sit(t, 60, 50, newOffice(request()), nil, "--plain")
	d.Wait(`Allow\? \[`)
	d.golden("plain")
	settle()
	d.Press(`"use pnpm"`, "Enter")
	if got := d.sent(1); len(got) != 1 || got[0].Note != "use pnpm" {
		t.Errorf("sent %+v, want the reason", got)
	}
	for env, want := range map[string]bool{"NO_COLOR=1": false, "X=1": true} {
		d := sit(t, 80, 40, newOffice(request(danger)), []string{env}, "")
		d.Wait("min old")
		settle()
		if got := strings.Contains(d.Colors(), "\x1b[91m"); got != want {
			t.Errorf("with %s the frame is red: %v, want %v\n%q", env, got, want, d.Colors())
		}
	}
	a := sit(t, 80, 40, newOffice(request(danger)), []string{"LC_ALL=C"}, "")
	a.Wait("min old")
	settle()
	a.golden("ascii")
}
