package ask

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"sandboxd/ipc"
)

// A terminal may have any size, and any size later, also none.
func TestEverySize(t *testing.T) {
	p := somebody(t)
	for name, q := range questions() {
		for _, width := range []int{0, 1, 2, 3, 5, 8, 13, 21, 40, 300} {
			for _, height := range []int{0, 1, 2, 3, 5, 8, 13, 300} {
				resize := tea.WindowSizeMsg{Width: width, Height: height}
				one := &single{person: p, ctx: t.Context(), d: newDialog(q, p.look(), 23, false, time.Now())}
				all := &sitting{Queue: Queue{Person: p}, ctx: t.Context(), look: p.look(), rows: 24,
					open: map[string]ipc.Approval{}}
				all.add(q)
				all.next()
				for _, m := range []tea.Model{one, all} {
					func() {
						defer func() {
							if r := recover(); r != nil {
								t.Errorf("%s, %d × %d: %T: %v", name, width, height, m, r)
							}
						}()
						m.View()
						if msg := sized(m, resize); msg != nil {
							m.Update(msg)
						}
						m.Update(resize) // as if it had come through
						m.View()
						for _, stage := range []stage{stageView, stageOptions} {
							one.d.stage = stage
							m.View()
						}
						if m == one {
							one.end(TimedOut, nil, "No answer in time: that is a no.")
							m.View()
						}
					}()
				}
			}
		}
	}
	if sized(nil, tea.WindowSizeMsg{}) != nil || sized(nil, tea.WindowSizeMsg{Width: 80, Height: 24}) == nil {
		t.Error("sizes that are none are not left out, or others are")
	}
}

// A dialog has at most as many lines as the terminal, which cuts off the rest. The last lines
// hold the options and, in "Always allow…", the grant that Enter makes, its scope and lifetime.
func TestWithinTheTerminal(t *testing.T) { // R-UX-01, R-AP-07
	list, look := questions(), somebody(t).look()
	script := plainQuestion()
	script.Command = strings.Repeat("echo one two three\n", 40)
	past := &ipc.Past{Of: 40, Matched: 9, Examples: slices.Repeat([]string{"npm install some-package"}, 9)}
	script.Suggestions = []ipc.Suggestion{{ID: "1", Label: "npm install …", Past: past},
		{ID: "2", Label: "npm …", Past: past}}
	list["script"] = script
	many := append(slices.Repeat([]string{"a/file"}, 40), strings.Repeat("long/", 100))
	for name, q := range list {
		for _, width := range []int{24, 33, 40, 60, 80, 200} {
			for rows := 1; rows < 40; rows++ {
				look.Width = width
				for _, stage := range []stage{stageOptions, stageCode, stageView, stageChoose, stagePick} {
					if stage == stageChoose && len(q.Scopes) < 2 {
						continue
					}
					d := newDialog(q, look, rows, false, time.Now())
					if newChooser(d.a).what == nil && stage == stageChoose {
						continue
					}
					d.stage, d.choice, d.code = stage, newChooser(q), "two words"
					d.picks = picker{paths: many, picked: map[int]bool{}, row: rows}
					lines := d.view(time.Now())
					if len(lines) > rows {
						t.Errorf("%s, %d × %d, stage %d: %d lines", name, width, rows, stage, len(lines))
					}
					shown := strings.Contains(strings.Join(lines[:min(rows, len(lines))], "\n"), "how long:")
					if a := d.key("enter", "", time.Now().Add(time.Minute)); stage == stageChoose && a.answer != nil && !shown {
						t.Errorf("%s, %d × %d: Enter grants what is not shown", name, width, rows)
					}
					if name == "script" && stage == stageChoose && width >= 60 && rows >= 20 && !shown {
						t.Errorf("%s, %d × %d: there is room for the choice", name, width, rows)
					}
				}
			}
		}
	}
}
