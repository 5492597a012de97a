package ask

import (
	"fmt"
	"slices"
	"time"

	"sandboxd/ipc"
)

// chooser is "Always allow…", or "Allow more…" where no answer outlives the session: what, how far, how long.
type chooser struct {
	what   []ipc.Suggestion // with a reach beyond the session the first is the request itself, with no id
	scopes []string
	lives  []time.Duration // 0: as long as the scope
	row    int
	scope  int
	life   int
}

// scopeWords is a scope of a grant in words.
type scopeWords struct{ scope, words, end string }

// reaches are those of grants, from narrow to wide.
var reaches = []scopeWords{
	{"turn", "until the user speaks again", "the turn ends"},
	{"session", "in this session", "the session ends"},
	{"project", "always, in this project", "it is withdrawn"},
	{"agent", "always, for this agent", "it is withdrawn"},
	{"global", "always, for every agent", "it is withdrawn"},
}

func newChooser(a ipc.Approval) chooser {
	c := chooser{what: a.Suggestions, lives: []time.Duration{0, 30 * time.Minute, 8 * time.Hour, 30 * 24 * time.Hour}}
	for _, r := range reaches {
		if slices.Contains(a.Scopes, r.scope) {
			c.scopes = append(c.scopes, r.scope)
		}
	}
	c.scope = max(slices.Index(c.scopes, "session"), 0)
	if c.lasting() { // else "Allow for this session" is the same
		c.what = append([]ipc.Suggestion{{Label: "exactly this", Past: a.Past}}, a.Suggestions...)
	}
	return c
}

// lasting reports whether an answer can outlive the session.
func (c chooser) lasting() bool {
	return slices.ContainsFunc(c.scopes, func(s string) bool { return s != "turn" && s != "session" })
}

// title is the name of the answer that opens the chooser.
func (c chooser) title() string {
	if c.lasting() {
		return "Always allow…"
	}
	return "Allow more…"
}

func (d *dialog) chooseKey(name string, now time.Time) act {
	c := &d.choice
	switch name {
	case "up":
		c.row = (c.row + len(c.what) - 1) % len(c.what)
	case "down":
		c.row = (c.row + 1) % len(c.what)
	case "left":
		c.scope = max(c.scope-1, 0)
	case "right":
		c.scope = min(c.scope+1, len(c.scopes)-1)
	case "tab":
		c.life = (c.life + 1) % len(c.lives)
	case "shift+tab":
		c.life = (c.life + len(c.lives) - 1) % len(c.lives)
	case "esc", "backspace", "q":
		d.stage = stageOptions
		d.clear()
		d.appeared(now)
	case "enter":
		if d.small { // the grant's words are not on the screen
			return act{}
		}
		answer := d.blank()
		answer.Allow, answer.Scope, answer.ForMS = true, c.scopes[c.scope], c.lives[c.life].Milliseconds()
		answer.Suggestion, answer.Key = c.what[c.row].ID, "Enter"
		return d.send(answer)
	}
	return act{}
}

// words describe the grant: its object, its reach and its life.
func (c chooser) words() (what, reach, life string) {
	r := reaches[slices.IndexFunc(reaches, func(r scopeWords) bool { return r.scope == c.scopes[c.scope] })]
	life = "until " + r.end
	switch d := c.lives[c.life]; {
	case d >= 48*time.Hour:
		life = fmt.Sprintf("for %d days, or until %s", int(d.Hours()/24), r.end)
	case d >= 2*time.Hour:
		life = fmt.Sprintf("for %d hours, or until %s", int(d.Hours()), r.end)
	case d > 0:
		life = fmt.Sprintf("for %d minutes, or until %s", int(d.Minutes()), r.end)
	}
	return c.what[c.row].Label, r.words, life
}

// pastWords describe the past calls that a grant would have answered.
func pastWords(p *ipc.Past) string {
	switch {
	case p == nil:
		return "the log was not read"
	case p.Of == 0:
		return "the log holds no call to compare with"
	case p.Matched == 0:
		return fmt.Sprintf("none of the last %d calls", p.Of)
	}
	return fmt.Sprintf("%d of the last %d calls, %d of them asked", p.Matched, p.Of, p.Asked)
}
