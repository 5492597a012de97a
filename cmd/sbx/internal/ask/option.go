package ask

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/ipc"
)

// Answers without a letter: verbAlways opens the [chooser], verbSome the [picker], the others trust the project
// besides.
const (
	verbAlways    verb = "…"
	verbSome      verb = "some"
	verbContained verb = "contained"
	verbEach      verb = "each"
)

// option is one line of the selector.
type option struct {
	verb     verb
	label    string
	widening string // id; "" is none
	spare    bool   // another option has the letter of its verb
}

// letter is the key of the answer, "" for none.
func (o option) letter() string {
	if len(o.verb) > 1 || o.spare {
		return ""
	}
	return string(o.verb)
}

// lettersOf are the letters of the options by their numbers.
func lettersOf(options []option) []string {
	out := make([]string, len(options))
	for i, o := range options {
		out[i] = o.letter()
	}
	return out
}

// optionsOf are the answers that a question allows, as the selector shows them.
func optionsOf(a ipc.Approval, onlyNo bool, l look) []option {
	once := "Allow once"
	if a.Command != "" || len(a.Argv) > 0 {
		once = "Execute once"
	}
	if slices.Contains(a.Trusts, trustOnce) {
		once = "Only this once"
	}
	var out []option
	for _, v := range offered(a, onlyNo) {
		switch v {
		case verbContained:
			label := "Trust, and stop asking about changes inside it"
			if l.Here {
				label += " (this terminal)"
			}
			out = append(out, option{verb: v, label: label})
		case verbEach:
			out = append(out, option{verb: v, label: "Trust, ask for each"})
		case verbYes:
			for i, w := range a.Widenings { // without what it names the command would fail
				label := "Once, with " + l.line(first(w.Label, w.Access+" "+w.Object))
				out = append(out, option{verb: v, label: label, widening: w.ID, spare: i > 0})
			}
			if len(a.Widenings) > 0 {
				once += ", without it"
			}
			if !a.OnlyWidened {
				out = append(out, option{verb: v, label: once, spare: len(a.Widenings) > 0})
			}
		case verbSome:
			out = append(out, option{verb: v, label: "Only some of the files" + l.sign("…", "...")})
		case verbSession:
			out = append(out, option{verb: v, label: "Allow for this session"})
		case verbAll:
			out = append(out, option{verb: v, label: allOf(*a.Batch)})
		case verbQuit:
			label := "Quit: stop the session"
			if a.Batch != nil {
				label = "Quit: cancel the rest"
			}
			out = append(out, option{verb: v, label: label})
		case verbView:
			out = append(out, option{verb: v, label: "View all"})
		case verbPresets:
			out = append(out, option{verb: v, label: addPresets(a, l)})
		}
	}
	order := func(v verb) int {
		return slices.Index([]verb{verbContained, verbEach, verbYes, verbSome, verbSession, verbAll, verbAlways,
			verbNo, verbQuit, verbView, verbPresets}, v)
	}
	out = append(out, option{verb: verbNo, label: "Deny:"})
	if c := newChooser(a); !onlyNo && len(c.what) > 0 && len(c.scopes) > 0 {
		out = append(out, option{verb: verbAlways, label: c.title()})
	}
	slices.SortStableFunc(out, func(a, b option) int { return order(a.verb) - order(b.verb) })
	return out
}

// addPresets names the presets that the answer p adds to the configuration, and why.
func addPresets(a ipc.Approval, l look) string {
	text, why := "Add preset ", ""
	if len(a.Presets) > 1 {
		text = "Add presets "
	}
	for _, p := range a.Presets {
		if why = first(why, p.Why); why != p.Why && p.Why != "" {
			why += ", " + p.Why
		}
	}
	if text += strings.Join(presetNames(a), ", "); why != "" {
		text += ": " + why
	}
	return l.line(text)
}

func presetNames(a ipc.Approval) (names []string) {
	for _, p := range a.Presets {
		names = append(names, p.Name)
	}
	return names
}

// allOf names the answer to all that is left of a batch.
func allOf(b ipc.BatchPlace) string {
	n, left := covered(b), 1+len(b.Remaining)
	if n < left {
		return fmt.Sprintf("Allow %d of the %d that are left", n, left)
	}
	return fmt.Sprintf("Allow all %d that are left", n)
}

// covered counts the call itself and those after it that a yes to the whole
// batch allows; the others ask by themselves.
func covered(b ipc.BatchPlace) int {
	n := 1
	for _, c := range b.Remaining {
		if c.Asks == "" {
			n++
		}
	}
	return n
}
