package acceptance

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// dialog is the front end of the terminal dialog's specification: `sbx approve` at a
// terminal, read and answered by its keys alone.
type dialog struct {
	*screen
	st *stage
}

func newDialog(st *stage) frontEnd {
	d := &dialog{newScreen(st.actor, "approve"), st}
	d.sees("sbx approve · ")                          // then it watches its terminal's size
	d.a.tmux("resize-window", "-x", "80", "-y", "50") // a yes counts once all of the box was on the screen
	return d
}

// asked compares the question on the screen with the call, where it is the only one.
func (d *dialog) asked(m *made, _ string) error {
	open, err := d.st.person().Approvals(d.a.t.Context())
	if err != nil || len(open.Approvals) != 1 {
		return err
	}
	// The box, or the line of a low risk (R-UX-02).
	for _, want := range []string{"(Tool: +|asks: )" + m.call.Tool, regexp.QuoteMeta(subject(m.call)),
		`1\.? (Execute once|Allow once|Once, with )`, `\d\.? Deny`, `Enter confirm, 1-\d quick, Ctrl\+C cancel`} {
		d.sees(want)
	}
	colours := []string{"90"} // of the hint
	box := d.sees("Enter confirm")
	switch {
	case open.Approvals[0].Outside && !strings.Contains(box, "!! OUTSIDE PROJECT !!"):
		return errors.New("no warning of a path outside the project")
	case strings.Contains(box, "!! "):
		colours = append(colours, "91")
	case strings.Contains(box, "┌─ sandboxd asks"):
		colours = append(colours, "36", "32") // the box, and the selected option
	}
	shown := d.colours()
	for _, c := range colours {
		if !regexp.MustCompile(`\x1b\[([\d;]*;)?` + c + `m`).MatchString(shown) {
			return fmt.Errorf("nothing has the colour %s:\n%q", c, shown)
		}
	}
	return nil
}

func (d *dialog) answer(p *performance, m *made, id string, a approvaltest.Answer) (again bool, err error) {
	if err := d.asked(m, id); err != nil {
		return false, err
	}
	d.settle()
	switch {
	case a.Suggestion > 0:
		err = d.always(p, m, a.Suggestion)
		if err != nil {
			return false, err
		}
	case a.Verb == approval.VerbAllow && a.Scope == approval.ScopeSession:
		d.keys("s")
		box := d.sees(`> ?\d\.? Allow for this session`)
		if strings.Contains(box, "┌─") && !grayDeny.MatchString(d.colours()) {
			return false, fmt.Errorf("Deny is not gray where another option is selected:\n%q", d.colours())
		}
		d.keys("Enter")
		m.key = "s Enter"
	case a.Verb == approval.VerbAllow:
		d.keys("1")
		m.key = "1"
	case a.Note == "cancelled":
		d.keys("C-c")
		d.sees(`Ctrl\+C again denies, Ctrl\+Q leaves`)
		d.keys("C-c")
		m.key = "Ctrl+C"
	default:
		m.key = "Enter"
		d.a.tmux("send-keys", "-l", a.Note)
		d.sees(`> ?\d\.? Deny: ` + regexp.QuoteMeta(a.Note))
		d.keys("Enter")
	}
	for _, label := range p.granted {
		eventually(d.a.t, "the list of grants has "+label, func() bool {
			return strings.Contains(d.st.sbx("grants", "ls").out, label)
		})
	}
	verdict := `\[Approved[a-z ]*\] ✓`
	if a.Verb == approval.VerbDeny {
		verdict = `\[Denied\] ✗ ` + regexp.QuoteMeta(a.Note)
	}
	d.sees(`▶ ` + m.call.Tool + `: .*` + regexp.QuoteMeta(subject(m.call)) + `.* ` + verdict)
	return false, nil
}

// subject is the argument that a person recognizes a call by.
func subject(c approvaltest.Call) string {
	for _, name := range []string{"command", "query"} {
		if text, ok := c.Args[name].(string); ok {
			return text
		}
	}
	return ""
}

// grayDeny is the option Deny where it is not selected.
var grayDeny = regexp.MustCompile(`\x1b\[([\d;]*;)?90m[ \d.]*Deny:`)

// colours is the screen with its escape sequences.
func (d *dialog) colours() string { return d.a.tmux("capture-pane", "-p", "-e") }

// settle waits until keys count: those that come at once were typed before the question.
func (d *dialog) settle() { time.Sleep(700 * time.Millisecond) }

// always takes the n-th suggestion by "Always allow…", for the session.
func (d *dialog) always(p *performance, m *made, n int) error {
	q, err := p.question(m)
	if err != nil {
		return err
	}
	if n > len(q.Suggestions) {
		return errors.New("not on offer")
	}
	digit := regexp.MustCompile(`(\d)\.? Always allow…`).FindStringSubmatch(d.sees("Enter confirm"))
	if digit == nil {
		return errors.New("not on offer: there is no “Always allow…”")
	}
	d.keys(digit[1])
	d.sees("Esc goes back")
	d.settle()
	for range n {
		d.keys("Down")
	}
	d.sees(`> ` + regexp.QuoteMeta(q.Suggestions[n-1].Label))
	d.sees(`in this session`)
	d.keys("Enter")
	m.key = "Enter"
	p.granted = append(p.granted, q.Suggestions[n-1].Label)
	return nil
}

// prefixes are the rows of the specification's table that name a directory.
func prefixes() []approvaltest.Scenario {
	const config = "[shell]\nauto_safe = false\n"
	bash := func(name, line string, want approvaltest.Want) approvaltest.Step {
		want.Call = name
		return approvaltest.Step{Say: line, Want: []approvaltest.Want{want},
			Call: &approvaltest.Call{Name: name, Tool: "bash", Args: map[string]any{"command": line}}}
	}
	asks := approvaltest.Want{State: approvaltest.Open}
	runs := approvaltest.Want{State: approvaltest.Approved, How: approval.HowAuto, Reason: approval.ReasonGrant}
	scenario := func(name, first, like, other string) approvaltest.Scenario {
		return approvaltest.Scenario{Name: name, Seed: "terminal dialog", Section: "Prefix-based allowlist: " + first,
			Config: config, Steps: []approvaltest.Step{
				bash("first", first, asks),
				{Say: "always allow", Answer: &approvaltest.Answer{To: "first", Verb: approval.VerbAllow,
					Scope: approval.ScopeSession, Suggestion: 1},
					Want: []approvaltest.Want{{Call: "first", State: approvaltest.Approved, How: approval.HowPerson}}},
				bash("like", like, runs),
				bash("other", other, asks),
			}}
	}
	return []approvaltest.Scenario{
		scenario("prefix/ls", "ls -la tools/", "ls tools/in", "ls api"),
		scenario("prefix/ls-of-another", "ls -la tools/", "ls -R tools", "ls"),
		scenario("prefix/grep", "grep -r pattern api/", "grep -rn other api/v1", "grep -r pattern tools"),
		scenario("prefix/find", "find . -name x", "find tools", "find .."),
		scenario("prefix/outside", "ls /var/tmp", "ls -la /var/tmp", "ls /var"),
	}
}
