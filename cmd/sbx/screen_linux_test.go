package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/ipc"
)

// What an agent asks for, one of each kind of question.
var (
	medium  = line("npm install left-pad --save-dev && echo 'done'")
	plain   = line("touch new.txt")
	low     = line("cat README")
	danger  = line("rm -rf ../build /var/cache/x")
	deletes = file("delete", ipc.FileRequest{Path: "plugins/old_plugin.py"})
	diff    = file("edit", ipc.FileRequest{Path: "notes/report.adoc", Edits: []ipc.Edit{{Find: "Summary\n", Replace: "Executive Summary\nKey findings from this week: the quick brown fox jumps over the lazy dog, twice, without any haste.\n"}}})
	long    = line(seventy())
	batch   = []ipc.BatchCall{line("echo one > one.txt"), file("write", ipc.FileRequest{Path: "two.ini", Content: "two\n"}), line("echo three > three.txt")}
)

func seventy() string {
	var b strings.Builder
	for i := 1; i <= 70; i++ {
		fmt.Fprintf(&b, "echo line %d >> lines.txt\n", i)
	}
	return b.String()
}

// waits is on the screen when a question is, and all there is to know of it.
const waits = `\d (s|min)\s+(old|left)`

// noAuto has even what only reads ask, which is of low risk then.
const noAuto = "[shell]\nauto_safe = false\n"

// slow leaves time to look at a screen.
const slow = "[approval]\ntimeout = \"5m\"\n"

// furnished is an open house with something in it to ask about.
func furnished(t *testing.T, config string) *house {
	t.Helper()
	h := openHouse(t, config)
	h.write("README", "hello\n")
	h.write("plugins/old_plugin.py", "pass\n")
	h.write("notes/report.adoc", "= Weekly Report\n== Summary\nNothing.\n")
	h.write("../build/x", "x\n")
	return h
}

// R-UX-01, R-UX-02: the screen of each kind of question at every width, and while the
// terminal is resized.
//
//   - Row 001-50 yes: the question about an edit names the backup
//   - Row 001-51 yes: the question about a delete names the backup
//   - Row 004-23 different: 90 % of the width, from 24 to 60 columns | up to 120 columns are used (R-UX-10)
//   - Row 004-24 yes: long text wraps
//   - Row 004-25 yes: the hints wrap
//   - Row 000-28 yes (commands): the question shows the tool and its arguments
//   - Row 000-31 yes (commands): a command is shown with its working directory
//   - Row 001-45 yes (commands): the question shows the command and its directory
//   - Row 001-48 yes (files): a warning for what is destructive
//   - Row 001-49 yes (files): the question of an edit shows the change
//   - Row 001-61 yes (low): a question of one line for quick approvals
//   - Row 001-62 yes (low): a box for what is risky, one line for what is simple
func TestScreenWidths(t *testing.T) {
	type kind struct {
		name string
		call []ipc.BatchCall
	}
	for name, c := range map[string]struct {
		config string
		kinds  []kind
	}{
		"commands": {slow, []kind{{"medium", []ipc.BatchCall{medium}}, {"danger", []ipc.BatchCall{danger}}, {"batch", batch}}},
		"files":    {slow, []kind{{"delete", []ipc.BatchCall{deletes}}, {"diff", []ipc.BatchCall{diff}}, {"long", []ipc.BatchCall{long}}}},
		"low":      {slow + noAuto, []kind{{"low", []ipc.BatchCall{low}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, c.config)
			d := h.sit(120, 60, "")
			for _, k := range c.kinds {
				d.Resize(120, 60)
				d.Wait("nothing waits")
				var done <-chan output
				if len(k.call) == 1 {
					done = h.agent().asks(k.call[0])
				} else {
					done = h.agent().asksAll(k.call...)
				}
				d.Wait(waits)
				rows := 80 // room for what any host says of its sandbox
				if k.name == "long" {
					rows = 60
				}
				for _, cols := range []int{120, 24, 40, 60, 250} {
					d.Resize(cols, rows)
					d.golden(k.name + "-" + strconv.Itoa(cols))
				}
				settle()
				d.steps("q", "?>.*Quit", "Enter")
				h.decided()
				<-done
			}
		})
	}
}

// keys is what is asked, what is typed then, and what the daemon must hear.
type keys struct {
	name   string
	call   ipc.BatchCall
	press  []string // steps
	want   ipc.Decided
	allows string // the grant that is made: its scope and what it covers
}

// R-UX-01, and the terminal dialog of the specifications: every key.
//
//   - Row 004-03 different: three options: once, always, deny | six, with session, quit, view (R-UX-01)
//   - Row 004-04 different (Enter alone at medium risk): the first option is selected | only at low risk
//   - Row 004-05 yes (arrows up): the arrows
//   - Row 004-06 yes (y): Enter confirms
//   - Row 004-07 different (digit): a digit selects at once | after 0.8 s without another key (R-UX-09)
//   - Row 004-10 yes (Backspace): Backspace
//   - Row 004-11 yes (Esc clears the reason): Esc clears
//   - Row 000-26 different (y): [y] and [n] decide at once | a letter selects, Enter confirms
//     (R-UX-01)
//   - Row 000-27 yes (v and back): [v] shows all of it
func TestScreenKeys(t *testing.T) {
	soft := func(note string) ipc.Decided { return ipc.Decided{Mode: "soft", Note: note} }
	allow := func(scope string) ipc.Decided { return ipc.Decided{Allowed: true, Scope: scope} }
	all := []keys{
		{"y", plain, []string{"y", "?> 1. Execute once", "Enter"}, allow("once"), ""},
		{"Y", plain, []string{"Y", "?> 1. Execute once", "Enter"}, allow("once"), ""},
		{"s", plain, []string{"s", "?> 2. Allow for this session", "Enter"}, allow("session"), "session Create or touch new.txt"},
		{"n", plain, []string{"n", "?> 4. Deny:", "Enter"}, soft(""), ""},
		{"q", plain, []string{"q", "?> 5. Quit", "Enter"}, ipc.Decided{Mode: "hard"}, ""},
		{"v and back", plain, []string{"v", "?> 6. View all", "Enter", "?all of it", "+", "q", "?1-6 quick", "+", "y", "?> 1", "Enter"}, allow("once"), ""},
		{"Enter alone at medium risk", plain, []string{"Enter"}, soft(""), ""},
		{"Enter alone at high risk", danger, []string{"Enter"}, soft(""), ""},
		{"digit", plain, []string{"1"}, allow("once"), ""},
		{"digit of the session", plain, []string{"2"}, allow("session"), "session Create or touch new.txt"},
		{"arrows up", plain, []string{"Up", "?> 3. Always", "Up", "?> 2", "Up", "?> 1", "Enter"}, allow("once"), ""},
		{"arrows around", plain, []string{"Down", "?> 5", "Down", "?> 6", "Down", "?> 1", "Enter"}, allow("once"), ""},
		{"arrow at high risk", danger, []string{"Down", "?> 1", "Up", "?> 4", "Up", "?> 3", "Up", "?> 2", "Enter"}, soft(""), ""},
		{"Ctrl-C", plain, []string{"y", "?> 1", "C-c", "?C again denies", "C-c"}, soft("cancelled"), ""},
		{"Ctrl-D", plain, []string{"C-d", "?D again denies", "C-d"}, soft("cancelled"), ""},
		{"reason that begins with a, not on offer", plain, []string{`"always ask me first"`, "?Deny: always ask me first", "Enter"}, soft("always ask me first"), ""},
		{"reason that begins with s", plain, []string{`"stop"`, "?Deny: stop", "Enter"}, soft("stop"), ""},
		{"reason that begins with y", plain, []string{`"yes but not now"`, "?> 4. Deny: yes but not now", "Enter"}, soft("yes but not now"), ""},
		{"reason that begins with q", plain, []string{`"quietly please"`, "?Deny: quietly please", "Enter"}, soft("quietly please"), ""},
		{"reason that begins with n", plain, []string{`"not like this"`, "?Deny: not like this", "Enter"}, soft("not like this"), ""},
		{"reason that begins with v", plain, []string{`"very odd"`, "?Deny: very odd", "Enter"}, soft("very odd"), ""},
		{"reason with another letter", plain, []string{`"use pnpm"`, "?> 4. Deny: use pnpm", "Enter"}, soft("use pnpm"), ""},
		{"reason with digits", plain, []string{`"go 1.26 2"`, "?Deny: go 1.26 2", "Enter"}, soft("go 1.26 2"), ""},
		{"Backspace", plain, []string{`"use pnpmx"`, "?pnpmx", "BSpace", "?pnpm  ", "Enter"}, soft("use pnpm"), ""},
		{"Backspace to nothing", plain, []string{"y", "?> 1", "BSpace", "?> 4", "Enter"}, soft(""), ""},
		{"Esc clears the reason", plain, []string{`"use pnpm"`, "?use pnpm", "Escape", "?Deny:  ", "Enter"}, soft(""), ""},
		{"Esc clears a letter", plain, []string{"y", "?> 1", "Escape", "?> 4", "Enter"}, soft(""), ""},
		{"chooser left again", plain, []string{"3", "?in this session", "+", "Escape", "?1-6 quick", "+", "Enter"}, soft(""), ""},
	}
	atLow := []keys{
		{"Enter alone at low risk", low, []string{"?>1 Execute once", "Enter"}, allow("once"), ""},
		{"Backspace to nothing at low risk", low, []string{`"xy"`, "?Deny: xy", "BSpace", "BSpace", "?>1 Execute", "Enter"}, allow("once"), ""},
		{"chooser", line("cat notes/report.adoc"), []string{"3", "?Allows exactly", "+", "Down", "?> cat", "Right", "?always, in this project", "Tab", "?for 30 minutes", "Enter"}, allow("project"), "project cat under notes"},
		{"letter at low risk", low, []string{"n", "?>. Deny", "Enter"}, soft(""), ""},
	}
	play := func(name, config string, list []keys) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, slow+config)
			d := h.sit(80, 44, "")
			for _, c := range list {
				d.Wait("nothing waits")
				done := h.agent().asks(c.call)
				d.Wait(waits)
				settle()
				d.steps(c.press...)
				got, end := h.decided(), <-done
				if got.Allowed != c.want.Allowed || got.Allowed && got.Scope != c.want.Scope || got.Note != c.want.Note || got.Mode != c.want.Mode {
					t.Errorf("%s: decided %+v, want %+v\n%s", c.name, got, c.want, d.Screen())
				}
				if end.err != nil || (end.Code == "") != c.want.Allowed || end.Note != c.want.Note || end.Mode != c.want.Mode {
					t.Errorf("%s: the agent received %+v", c.name, end)
				}
				grants := ""
				for _, g := range h.forget() {
					grants = strings.TrimSpace(grants + "; " + g.Scope + " " + g.What)
				}
				if !strings.Contains(grants, c.allows) || (grants == "") != (c.allows == "") {
					t.Errorf("%s: granted %q, want %q", c.name, grants, c.allows)
				}
			}
		})
	}
	for i := range 4 {
		var list []keys
		for j, c := range all {
			if j%4 == i {
				list = append(list, c)
			}
		}
		play(strconv.Itoa(i), "", list)
	}
	play("low", noAuto, atLow)
}

// nothing wants nothing to be decided although there is time for it.
func (h *house) nothing(when string) {
	h.t.Helper()
	before := h.pending()
	settle()
	if after := h.pending(); len(before) == 0 || len(after) != len(before) {
		h.t.Errorf("%s: %d questions were open and %d are", when, len(before), len(after))
	}
}

// R-UX-01: nothing that was typed before a card appeared or changed counts, nor
// what is pasted, nor what a terminal reports of itself.
//
//   - Row 004-34 yes: text that was typed before the question is discarded
func TestScreenTypeAhead(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow+noAuto) // at low risk Enter alone is a yes
	a := h.agent()
	done := []<-chan output{a.asks(low)}
	h.waits(1)
	start := "while [ ! -e start ]; do sleep 0.05; done; sbx approve 2>/dev/null"
	d := &approverSocket{Tmux: termtest.OpenTmux(t, 80, 30, h.env, "cd "+h.project()+"; echo wait; "+start), t: t}
	d.Wait("wait")
	d.Tmux.Press("1", "Enter", "y", "Enter")
	h.write("start", "")
	d.Wait(waits)
	h.nothing("typed before the screen was there")

	// Typed at the very moment at which the card changes: the same is asked
	// again, and one answer is for both, or for three. The terminal is resized:
	// what is on the screen has changed.
	for n := 2; n < 4; n++ {
		d.early(h, "typed as the card changed", func() {
			done = append(done, a.asks(low))
			d.Wait(fmt.Sprintf("%d times", n))
		})
	}
	d.early(h, "typed as the terminal was resized", func() {
		d.Resize(50+len(h.pending()), 20)
		d.Wait("6 View")
	})

	// Pasted, marked as such or not; what a terminal reports of itself.
	settle()
	d.Paste("1\n", true)
	d.Paste("y\n1\n", true)
	h.nothing("pasted")
	d.Press("Escape")
	d.Raw("1b", "5b", "49") // focus in
	d.Raw("1b", "5b", "4f") // focus out
	d.Raw("1b", "5b", "3c", "30", "3b", "33", "3b", "34", "4d")
	h.nothing("reports of the terminal")
	d.Paste("use pnpm\n", false)
	h.nothing("pasted without a mark")
	d.Press("Escape")
	d.Wait(">1 Execute once")
	d.Press("Enter")
	for _, c := range done {
		if e := <-c; e.err != nil || e.Out != "hello\n" {
			t.Errorf("the agent received %+v, want a yes from the one Enter that counts", e)
		}
	}
}

// early changes the screen and types a yes right then, which must not count. On
// a machine so loaded that a key takes longer than a tenth of a second, it might:
// nothing is shown then, and package ask's own tests have to do.
func (d *approverSocket) early(h *house, when string, change func()) {
	d.t.Helper()
	settle()
	before := len(h.pending())
	change()
	start := time.Now()
	d.Tmux.Press("Escape") // as long as any key
	if took := time.Since(start); took > 100*time.Millisecond {
		d.t.Logf("%s: not tried, a key takes %v", when, took)
		return
	}
	d.Tmux.Press("1")
	settle()
	if len(h.pending()) < before {
		d.t.Fatalf("%s: it was decided", when)
	}
}

// R-AP-13: the second yes is two words that are on the screen.
func TestScreenSecondYes(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	d := h.sit(60, 40, "")
	for _, c := range []struct {
		name    string
		call    ipc.BatchCall
		words   func(code string) string
		note    string
		removed string
	}{
		{"yes is not enough", deletes, func(string) string { return "yes" }, "not confirmed", ""},
		{"nothing", danger, func(string) string { return "" }, "not confirmed", ""},
		{"delete", deletes, func(code string) string { return code }, "", "plugins/old_plugin.py"},
		{"danger, in capitals", line("rm -rf plugins"), strings.ToUpper, "", "plugins"},
	} {
		d.Wait("nothing waits")
		done := h.agent().asks(c.call)
		d.Wait(waits)
		settle()
		d.Press("1") // a digit alone answers nothing here
		d.Wait("> 1.")
		h.nothing("a digit at high risk")
		d.Press("Enter")
		lines := strings.Split(d.Wait("two words: +│$"), "\n")
		at := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "two words:") })
		code := strings.Trim(lines[at+1], "│ ")
		if len(strings.Fields(code)) != 2 {
			t.Fatalf("no two words on the screen:\n%s", d.Screen())
		}
		settle()
		if words := c.words(code); words != "" {
			d.Press(strconv.Quote(words))
			d.Wait("> (?i)" + words)
		}
		d.Press("Enter")
		got, end := h.decided(), <-done
		if got.Allowed != (c.removed != "") || got.Note != c.note || end.err != nil && c.note == "" {
			t.Errorf("%s: decided %+v, the agent received %+v\n%s", c.name, got, end, d.Screen())
		}
		if c.removed != "" && h.exists(c.removed) {
			t.Errorf("%s: %s is still there", c.name, c.removed)
		}
		if c.removed == "" && !h.exists("plugins/old_plugin.py") {
			t.Errorf("%s: what was not confirmed was carried out", c.name)
		}
	}
}

// R-AP-10, R-AP-12: the batch of three of the specifications, with every answer
// to it, from the first call on.
func TestScreenBatch(t *testing.T) {
	for _, c := range []struct {
		name    string
		press   []string // steps
		made    []string
		ran     int
		message string // what the agent reads of the call that stopped it, or was skipped
	}{
		{"batch-all", []string{"?1 of 3", "+", "a", "?> \\d. Allow all 3", "Enter"}, []string{"one.txt", "two.ini", "three.txt"}, 3, ""},
		{"batch-quit", []string{"?1 of 3", "+", "1", "?2 of 3", "+", "q", "?> \\d. Quit: cancel the rest", "Enter"}, []string{"one.txt"}, 1, "completed 1 of 3 operations, cancelled 2"},
		{"batch-quit-first", []string{"?1 of 3", "+", "q", "?> \\d. Quit", "Enter"}, nil, 0, "completed 0 of 3 operations, cancelled 3"},
		{"batch-soft", []string{"?1 of 3", "+", `"always ask me first"`, "?Deny: always ask me first", "Enter", "?2 of 3", "+", "1", "?3 of 3", "+", "1"}, []string{"two.ini", "three.txt"}, 2, "always ask me first"},
		{"batch-each", []string{"?1 of 3", "+", "1", "?2 of 3", "+", "1", "?3 of 3", "+", "1"}, []string{"one.txt", "two.ini", "three.txt"}, 3, ""},
		{"batch-hard", []string{"?1 of 3", "!--stop"}, nil, 0, "Stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, slow)
			a := h.agent()
			done := a.asksAll(batch...)
			h.waits(1)
			d := h.sit(100, 44, "")
			for _, k := range c.press {
				if flag, ok := strings.CutPrefix(k, "!"); ok { // a hard rejection of one call, elsewhere
					h.sbx("approve", h.waits(1)[0].ID, "--deny", flag)
					continue
				}
				d.step(k)
			}
			end := <-done
			d.steps("?nothing waits", "C-c")
			if code := d.Status(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			d.golden(c.name)
			if end.err != nil || end.Batch.Ran != c.ran {
				t.Errorf("the agent received %+v, %v", end.Batch, end.err)
			}
			for _, name := range []string{"one.txt", "two.ini", "three.txt"} {
				if h.exists(name) != slices.Contains(c.made, name) {
					t.Errorf("%s is there: %v", name, h.exists(name))
				}
			}
			if text := fmt.Sprintf("%+v", end.Batch.Results); !strings.Contains(read(end.Batch), c.message) {
				t.Errorf("the agent does not read %q: %s", c.message, text)
			}
		})
	}
}

// read is what an agent reads of the calls that were not carried out.
func read(b ipc.BatchResult) string {
	out := b.Stopped
	for _, r := range b.Results {
		if r.Exec != nil && r.Exec.Exit.Denied != nil {
			out += "\n" + r.Exec.Exit.Denied.Message
		}
		if r.Error != nil {
			out += "\n" + r.Error.Message
		}
	}
	return out
}

// R-AP-21: the last answer is taken back as far as that goes.
func TestScreenUndo(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	one, two := h.agent(), h.agent()
	first := one.asks(line("touch one.txt"))
	h.waits(1)
	second := two.asks(line("touch two.txt"))
	h.waits(2)
	d := h.sit(80, 44, "")
	d.Wait("2 requests")
	settle()
	d.golden("queue-two")
	d.Press("2")
	if e := <-first; e.Status != 0 {
		t.Errorf("the agent received %+v", e)
	}
	d.Wait("Command: touch two.txt")
	d.Press("C-z")
	d.Wait(`Undone: the grant`)
	settle()
	d.golden("queue-undone")
	if g := h.forget(); len(g) != 0 {
		t.Errorf("grants are left: %+v", g)
	}
	d.steps("q", "?> \\d. Quit", "Enter", "?nothing waits")
	if e := <-second; e.Mode != "hard" {
		t.Errorf("the agent received %+v", e)
	}
	d.Press("C-z")
	d.Wait("Undone: the session continues")
	d.Press("C-z")
	d.Wait("There is no answer to undo")
	d.golden("queue-empty")
	if e := <-two.asks(line("cat README")); e.Out != "hello\n" {
		t.Errorf("the session does not continue: %+v", e)
	}
}

// R-UX-01: "Always allow…" shows what each wider grant would have covered: the past is
// what the log holds.
func TestScreenChooser(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow+noAuto)
	a := h.agent()
	for _, s := range []string{"cat notes/report.adoc", "cat notes/plan.adoc", "cat README", "cat notes/report.adoc", "ls notes"} {
		done := a.asks(line(s))
		h.sbx("approve", h.waits(1)[0].ID, "--deny")
		<-done
	}
	done := a.asks(line("cat notes/report.adoc"))
	h.waits(1)
	d := h.sit(80, 44, "")
	d.Wait(waits)
	settle()
	d.Press("3")
	d.Wait("Allows exactly this request")
	settle()
	d.golden("chooser-exact")
	d.Press("Down", "Down", "Right", "Right", "Right", "Tab", "Tab", "Tab")
	d.Wait("how long: for 30 days")
	d.golden("chooser-wide")
	d.Resize(30, 44)
	d.golden("chooser-30")
	settle()
	d.Press("Escape")
	d.Wait("quick")
	settle()
	d.steps("C-c", "?again denies", "C-c")
	<-done
}

// The first valid answer wins, and the other approver is notified (R-AP-15). An
// approver that is killed has answered nothing (R-AP-14).
func TestScreenTwoApprovers(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	done := h.agent().asks(plain)
	h.waits(1)
	one, two, dead := h.sit(80, 44, ""), h.sit(80, 44, ""), h.sit(80, 44, "")
	for _, d := range []*approverSocket{one, two, dead} {
		d.Wait(waits)
	}
	settle()
	dead.steps("y", "?> 1.")
	dead.Close()
	h.nothing("after an approver was killed")
	two.steps("y", "?> 1.")
	one.Press("1")
	two.Wait("already decided by uid ")
	two.golden("answered-elsewhere")
	if e := <-done; e.Status != 0 || e.Code != "" || !h.exists("new.txt") {
		t.Errorf("the agent received %+v", e)
	}
}

// R-AP-14: no answer in time is a no, and it says so; the last approver that is
// killed leaves nothing but that.
func TestScreenTimeout(t *testing.T) {
	t.Parallel()
	h := furnished(t, "[approval]\ntimeout = \"6s\"\ntimeout_remote = \"6s\"\n")
	done := h.agent().asks(plain)
	h.waits(1)
	d := h.sit(80, 44, "--once")
	d.Wait("[0-9] s left|No answer in time")
	d.Press("y")
	if code := d.Status(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	d.Wait("No answer in time: that is a no.")
	d.golden("timeout")
	if e := <-done; e.Code != ipc.CodeTimeout || h.exists("new.txt") {
		t.Errorf("the agent received %+v", e)
	}
	done = h.agent().asks(plain)
	h.waits(1)
	dead := h.sit(80, 44, "")
	dead.Wait(waits + "|nothing waits")
	dead.Close()
	if e := <-done; e.Code != ipc.CodeTimeout || h.exists("new.txt") {
		t.Errorf("the agent received %+v", e)
	}
}
