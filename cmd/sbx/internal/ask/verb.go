package ask

import (
	"slices"
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
	verbHelp    verb = "?"
)

// words are the long forms that count as well.
var words = map[string]verb{
	"y": verbYes, "yes": verbYes,
	"s": verbSession, "session": verbSession,
	"a": verbAll, "all": verbAll,
	"": verbNo, "n": verbNo, "no": verbNo,
	"q": verbQuit, "quit": verbQuit,
	"v": verbView, "view": verbView,
	"?": verbHelp, "help": verbHelp,
}

// scope is what an answer carries.
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
	if slices.Contains(a.Scopes, "session") {
		out = append(out, verbSession)
	}
	if a.Batch != nil && a.Batch.Total > a.Batch.Index+1 {
		out = append(out, verbAll)
	}
	return append(out, verbQuit, verbView)
}

// parse reads a typed line. With verbNo the text is the person's reason, with
// verbHelp it is what to tell the person.
func (c card) parse(line string) (verb, string) {
	line = strings.TrimSpace(line)
	v, ok := words[strings.ToLower(line)]
	switch {
	case !ok:
		return verbNo, line
	case v == verbHelp:
		return verbHelp, c.help
	case !slices.Contains(c.offered, v):
		return verbHelp, "“" + line + "” is not on offer here. " + c.help
	}
	return v, ""
}

// wordOf names a typed line for the record: the word of an answer, or Enter, which also ends a
// reason.
func wordOf(line string) string {
	word := strings.ToLower(strings.TrimSpace(line))
	if _, ok := words[word]; !ok || word == "" {
		return "Enter"
	}
	return word
}

// keyName is a key of the keyboard as people write it.
func keyName(name string) string {
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return "Ctrl+" + strings.ToUpper(letter)
	}
	return name
}

// helpText explains the answers on offer.
func helpText(list []verb, a ipc.Approval) string {
	texts := map[verb]string{
		verbYes:     "y yes, once",
		verbSession: "s yes, for this session",
		verbAll:     "a yes to all that is left of the batch",
		verbNo:      "Enter no",
		verbQuit:    "q no, and stop",
		verbView:    "v view all",
	}
	if a.Batch != nil {
		texts[verbQuit] = "q no, and cancel the rest"
	}
	var out []string
	for _, v := range list {
		out = append(out, texts[v])
	}
	text := strings.Join(out, " · ") + " · any other text: no, with that reason"
	if !slices.Contains(list, verbYes) {
		text = "The risk is high: a yes has to come from another terminal (sbx approve). Here: " + text
	}
	return text
}

// promptText is the line that the answer is typed on.
func promptText(list []verb) string {
	letters := make([]string, 0, len(list))
	for _, v := range list {
		if v == verbNo {
			letters = append(letters, "N") // the capital is what Enter means
			continue
		}
		letters = append(letters, string(v))
	}
	if !slices.Contains(list, verbYes) {
		return "Deny? [" + strings.Join(letters, "/") + "] "
	}
	return "Allow? [" + strings.Join(letters, "/") + "] "
}
