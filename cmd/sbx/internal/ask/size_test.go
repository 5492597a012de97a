package ask

import (
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
				all := &sitting{Queue: Queue{Person: p}, ctx: t.Context(), look: p.look(), rows: 24, open: map[string]ipc.Approval{}}
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
