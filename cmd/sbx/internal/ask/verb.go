package ask

import (
	"slices"
	"strconv"
	"strings"

	"sandboxd/ipc"
)

// verb is one thing a person can answer.
type verb string

const (
	verbYes     verb = "y"
	verbSession verb = "s"
	verbAll     verb = "a"
	verbNo      verb = "n"
	verbQuit    verb = "q"
	verbView    verb = "v"
	verbPresets verb = "p" // neither yes nor no: the request is judged again with its presets
)

// trustOnce is the yes to a project's first question that does not trust it.
const trustOnce = "once"

// trust is the part of a yes that concerns the project; "" where the question offers nothing but that.
func (v verb) trust(a ipc.Approval) string {
	switch {
	case v == verbContained || v == verbEach:
		return string(v)
	case slices.Contains(a.Trusts, trustOnce):
		return trustOnce
	}
	return ""
}

// scope is the scope in an answer.
func (v verb) scope() string {
	switch v {
	case verbSession:
		return "session"
	case verbAll:
		return "batch"
	}
	return "once"
}

// offered are the answers that a question allows, in the order of the prompt.
func offered(a ipc.Approval, onlyNo bool) []verb {
	if onlyNo {
		return []verb{verbNo, verbQuit, verbView}
	}
	out := []verb{verbYes, verbNo}
	for _, v := range []verb{verbContained, verbEach} {
		if slices.Contains(a.Trusts, string(v)) && slices.Contains(a.Trusts, trustOnce) && !a.OnlyWidened {
			out = append(out, v)
		}
	}
	if len(a.Paths) > 1 {
		out = append(out, verbSome)
	}
	if slices.Contains(a.Scopes, "session") {
		out = append(out, verbSession)
	}
	if a.Batch != nil && a.Batch.Total > a.Batch.Index+1 && !a.OnlyWidened {
		out = append(out, verbAll)
	}
	out = append(out, verbQuit, verbView)
	if len(a.Presets) > 0 {
		out = append(out, verbPresets)
	}
	return out
}

// keyName is a key of the keyboard as people write it.
func keyName(name string) string {
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return "Ctrl+" + strings.ToUpper(letter)
	}
	return name
}

// helpText explains the answers on offer.
func helpText(options []option, onlyNo bool) string {
	var out []string
	for i, o := range options {
		keys := strconv.Itoa(i + 1)
		if letter := o.letter(); letter != "" {
			keys += " " + letter
		}
		out = append(out, keys+" "+strings.TrimSuffix(o.label, ":"))
	}
	text := strings.Join(out, " · ") + " · Enter alone: deny · any other text: deny, with that reason"
	if onlyNo {
		text = "The risk is high: a yes has to come from another terminal (sbx approve). Here: " + text
	}
	return text
}

// promptText is the line that the answer is typed on.
func promptText(options []option, onlyNo bool) string {
	var letters []string
	for i, o := range options {
		if o.verb == verbContained || o.verb == verbEach {
			letters = append(letters, strconv.Itoa(i+1))
		}
	}
	for _, v := range []verb{verbYes, verbNo, verbSession, verbAll, verbQuit, verbView, verbPresets} {
		if !slices.Contains(lettersOf(options), string(v)) {
			continue
		}
		if v == verbNo {
			v = "N" // the capital marks Enter's meaning
		}
		letters = append(letters, string(v))
	}
	if onlyNo {
		return "Deny? [" + strings.Join(letters, "/") + "] "
	}
	return "Allow? [" + strings.Join(letters, "/") + "] "
}
