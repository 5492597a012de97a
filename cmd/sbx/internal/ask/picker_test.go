package ask

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// R-LY-05: a yes may be for some of the files. It takes those that were picked on the screen, and none where none is
// picked, or where the terminal does not show which.
func TestPicker(t *testing.T) {
	q := plainQuestion()
	for i := range 30 {
		q.Paths = append(q.Paths, fmt.Sprintf("dir/file-%d", i))
	}
	q.Paths[3] = strings.Repeat("deep/", 30) + "end\x1b[2J"
	now := time.Now()
	open := func(rows int) *dialog {
		d := newDialog(q, look{Width: 60, UTF8: true}, 40, false, now)
		d.view(now)
		some := slices.IndexFunc(d.options, func(o option) bool { return o.verb == verbSome })
		if some < 0 || d.take(some, "", now).answer != nil || d.stage != stagePick {
			t.Fatalf("no picker among %+v", d.options)
		}
		d.rows = rows
		return d
	}
	for _, c := range []struct {
		rows int
		keys string
		want []int
	}{
		{20, "enter", nil}, {20, "space enter", []int{0}}, {20, "space down space enter", []int{0, 1}},
		{20, "space space enter", nil}, {12, "end space up space home space enter", []int{0, 28, 29}},
		{20, "down down down space enter", []int{3}}, {20, "up space enter", []int{29}},
		{20, "pgdown space esc enter", nil}, {8, "space enter", nil},
	} {
		d := open(c.rows)
		at := now
		var got []string
		for _, key := range strings.Fields(c.keys) {
			at = at.Add(time.Second)
			lines := d.view(at)
			if c.rows >= minRows && d.stage == stagePick && (len(lines) > c.rows || !strings.Contains(strings.Join(lines, "\n"),
				"> [")) {
				t.Errorf("%d rows, %q: the picker is\n%s", c.rows, c.keys, strings.Join(lines, "\n"))
			}
			if a := d.key(key, "", at); a.answer != nil && a.answer.Allow {
				got = a.answer.Paths
			}
		}
		var want []string
		for _, i := range c.want {
			want = append(want, q.Paths[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d rows, %q: %q, want %q", c.rows, c.keys, got, want)
		}
	}
}
