package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sandboxd/approval"
)

// JudgeUndo decides on undoing the change id by its steps: each is judged as the write that it is
// (R-FS-08). guarded reports that only a person may restore it: it was quarantined, or had a
// protected name.
func (r *Rules) JudgeUndo(id string, steps []Step, guarded bool) Verdict {
	v := Verdict{Decision: Auto, Why: "there is nothing to take back", Safe: true}
	for i, step := range steps {
		for j, p := range undoParts(step) {
			if w := r.judgePart(p); i+j == 0 {
				v = w
			} else {
				v = v.and(w)
			}
		}
	}
	v.Reasons = distinct(v.Reasons, maxReasons)
	v.Tool = Request{Op: Undo}.toolName(true)
	if len(steps) > 0 {
		v.Path, v.To = steps[0].Path, steps[0].To
		root, _, _ := r.Locate(v.Path)
		v.Sandbox = root.Name
	}
	if guarded && v.Decision != Block {
		v.Protected = true
		v.Reasons = append([]string{"it restores a quarantined file or one under a protected name"}, v.Reasons...)
		if v.Decision == Auto {
			v.Decision, v.Why, v.Rule = Ask, v.Reasons[0], "files"
		}
	}
	v.Risk = approval.RiskNormal
	if v.Protected || v.Delete || v.Outside {
		v.Risk = approval.RiskHigh
	}
	v.Description = "Undo " + id + ": " + inBrief(steps)
	v.Payload = map[string]any{"op": string(Undo), "change": id}
	v.Suggestions = nil
	return v
}

// maxReasons bounds the reasons of an undo that has many steps.
const maxReasons = 20

// distinct returns the first limit different texts.
func distinct(list []string, limit int) []string {
	var out []string
	for _, s := range list {
		if len(out) < limit && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// undoParts takes a step apart.
func undoParts(s Step) []part {
	fact := func(p string, st State) Fact { return Fact{Asked: p, Real: p, Kind: st.Kind} }
	put := func(f Fact) part {
		if f.Kind == Absent {
			return part{creates, Undo, f}
		}
		return part{overwrites, Undo, f}
	}
	switch s.Kind {
	case PutStep:
		return []part{put(fact(s.Path, s.Before))}
	case MkdirStep, AttrStep:
		return []part{{makesDir, Undo, Fact{Asked: s.Path, Real: s.Path, Kind: Absent}}}
	case RenameStep:
		to := State{Kind: Absent}
		if s.Displaced != nil {
			to = *s.Displaced
		}
		return []part{{deletes, Undo, fact(s.Path, s.Before)}, put(fact(s.To, to))}
	}
	return []part{{deletes, Undo, fact(s.Path, s.Before)}}
}

// describeSteps describes steps, one line each.
func describeSteps(steps []Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.String())
	}
	if out == nil {
		out = []string{"nothing to do"}
	}
	return out
}

// inBrief describes steps in a line: each of up to three, or how many there are of each kind.
func inBrief(steps []Step) string {
	if len(steps) <= 3 {
		return strings.Join(describeSteps(steps), "; ")
	}
	count, out := map[[2]string]int{}, []string(nil)
	for _, s := range steps {
		verb, object := s.words()
		count[[2]string{verb, object}]++
	}
	for _, s := range steps {
		verb, object := s.words()
		key := [2]string{verb, object}
		switch n := count[key]; {
		case n == 1:
			out = append(out, fmt.Sprintf("%s a %s", verb, object))
		case n > 1:
			out = append(out, fmt.Sprintf("%s %d %ss", verb, n, object))
		}
		delete(count, key)
	}
	return strings.Join(out, ", ")
}

// words are the verb and the object of a step, for people.
func (s Step) words() (verb, object string) {
	switch s.Kind {
	case PutStep:
		if s.Before.Kind == Absent {
			return "put", noun(s.After.Kind)
		}
		return "change", noun(s.Before.Kind)
	case RemoveStep:
		return "remove", noun(s.Before.Kind)
	case MkdirStep:
		return "make", "folder"
	case RmdirStep:
		return "remove", "folder"
	case AttrStep:
		return "set mode, owner or time of", "folder"
	}
	return "move", noun(s.Before.Kind)
}

// String describes the step for people.
func (s Step) String() string {
	verb, object := s.words()
	if s.Kind == RenameStep {
		return "move " + s.Path + " to " + s.To
	}
	return verb + " " + object + " " + s.Path
}

// UndoPresentation returns an undo for a person to see: its steps, and what is shown of the files that the first steps
// change; nil where a step has no more details.
func UndoPresentation(steps []Step, shown []*approval.Presentation) *approval.Presentation {
	if len(steps) == 1 && len(shown) == 1 && shown[0] != nil {
		return shown[0]
	}
	meta := map[string]any{}
	var text strings.Builder
	text.WriteString(strings.Join(describeSteps(steps), "\n") + "\n")
	for i, p := range shown {
		if p == nil {
			continue
		}
		content := p.Content
		if full, ok := p.Metadata["full_content"].(string); ok {
			content = full
		}
		if p.Kind == approval.KindFileContent {
			text.WriteString("\n" + steps[i].String() + ":")
		}
		text.WriteString("\n" + content)
	}
	content := cut(text.String(), maxShownLines, meta)
	return &approval.Presentation{Kind: approval.KindText, Content: content, Metadata: meta}
}

// StepsDigest identifies an undo by everything except temporary names and the times of folders: each new name in a
// folder changes its time. A step that sets only that is left out.
func StepsDigest(steps []Step) string {
	plain := []Step{}
	for _, s := range steps {
		s.Temp, s.ParentTime, s.ToParentTime = "", 0, 0
		s.Before, s.After = withoutFolderTime(s.Before), withoutFolderTime(s.After)
		if s.Kind != AttrStep || !reflect.DeepEqual(s.Before, s.After) {
			plain = append(plain, s)
		}
	}
	data, err := json.Marshal(plain)
	if err != nil {
		return "" // only strings and numbers: it cannot fail
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func withoutFolderTime(s State) State {
	if s.Kind == Dir {
		s.ModTime = 0
	}
	return s
}
