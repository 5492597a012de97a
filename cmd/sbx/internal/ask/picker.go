package ask

import (
	"fmt"
	"time"
)

// picker is "Only some of the files…": the paths of a change set, of which a yes takes those that are picked.
type picker struct {
	paths  []string
	picked map[int]bool
	row    int
	top    int // the first row that is shown
}

func (d *dialog) pickKey(name string, now time.Time) act {
	p := &d.picks
	switch name {
	case "up":
		p.row = (p.row + len(p.paths) - 1) % len(p.paths)
	case "down":
		p.row = (p.row + 1) % len(p.paths)
	case "pgup":
		p.row = max(p.row-d.height, 0)
	case "pgdown":
		p.row = min(p.row+d.height, len(p.paths)-1)
	case "home":
		p.row = 0
	case "end":
		p.row = len(p.paths) - 1
	case "space":
		if !d.small { // else nobody sees which
			p.picked[p.row] = !p.picked[p.row]
		}
	case "esc", "backspace", "q":
		d.stage = stageOptions
		d.clear()
		d.appeared(now)
	case "enter":
		answer := d.blank()
		for i, path := range p.paths {
			if p.picked[i] {
				answer.Paths = append(answer.Paths, path)
			}
		}
		if d.small || len(answer.Paths) == 0 {
			return act{}
		}
		answer.Allow, answer.Scope, answer.Key = true, "once", "Enter"
		return d.send(answer)
	}
	return act{}
}

// drawPicker draws the picker: as many of its rows as fit.
func (d *dialog) drawPicker() []string {
	l, p := d.look, &d.picks
	b := &box{look: l, width: d.boxWidth(), color: d.frame()}
	n := 0
	for _, yes := range p.picked {
		if yes {
			n++
		}
	}
	sum := row{{bold, fmt.Sprintf("Lets %d of %d land. The others are held (sbx changes).", n, len(p.paths))}}.
		wrap(b.inner())
	hint := row{{gray, l.sign("↑/↓", "Up/Down") + " Space picks, Enter lets them land, Esc goes back, Ctrl+C denies"}}.
		wrap(l.Width)
	room, end := max(d.rows-len(sum)-len(hint)-4, 1), 0
	lines := []row(nil)
	for p.top = min(p.top, p.row); ; p.top++ {
		if lines, end = d.pickRows(room, b.inner()); end > p.row {
			break
		}
	}
	d.height = end - p.top
	b.top("sandboxd asks: which files")
	b.rows(lines)
	b.row(row{{gray, fmt.Sprintf("%d-%d of %d", p.top+1, end, len(p.paths))}})
	b.rows(sum)
	b.bottom()
	for _, r := range hint {
		b.out = append(b.out, r.string(l))
	}
	return b.out
}

// pickRows are the rows of the first paths that fit, at least one's, and the index of the next path.
func (d *dialog) pickRows(room, width int) (lines []row, end int) {
	for end = d.picks.top; end < len(d.picks.paths); end++ {
		mark, color := "  [ ] ", ""
		if d.picks.picked[end] {
			mark = "  [x] "
		}
		if end == d.picks.row {
			mark, color = ">"+mark[1:], green
		}
		more := hang(row{{color, mark}}, row{{color, d.look.line(d.picks.paths[end])}}, width)
		if end > d.picks.top && len(lines)+len(more) > room {
			break
		}
		lines = append(lines, more...)
	}
	return lines, end
}
