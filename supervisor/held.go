package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
)

// heldPrefix begins the ids of held change sets: the rest is that of the run's id.
const heldPrefix = "h-"

func heldID(exec string) string { return heldPrefix + strings.TrimPrefix(exec, "x-") }

// layerNote is the content of the file beside a layer. Granted are the protected paths that a yes let the command
// change. Held is why the change set did not land. Had is the part that landed before a landing whose end is not noted;
// nil: there is none. Above are the runs whose held change sets the command saw; Stale is why it never lands, because
// one of those was dropped. Chosen: it did not land because somebody wanted that, and the session's next commands see
// it. Stays: it was reported as landed, and only its undo is missing. Boot is the boot in which the run began.
type layerNote struct {
	store.Record
	Boot    string   `json:"boot,omitempty"`
	Granted []string `json:"granted,omitempty"`
	Above   []string `json:"above,omitempty"`
	Stale   string   `json:"stale,omitempty"`
	Chosen  bool     `json:"chosen,omitempty"`
	Stays   bool     `json:"stays,omitempty"`

	Held  string `json:"held,omitempty"`
	Bytes int64  `json:"bytes,omitempty"` // of its new files that are left
	Had   []bool `json:"had,omitempty"`
}

// heldNotes are those of all held change sets.
func (s *Supervisor) heldNotes() (list []layerNote) {
	if s.layers == "" {
		return nil
	}
	entries, _ := os.ReadDir(s.layers)
	for _, e := range entries {
		if _, note, err := s.heldNote(heldID(e.Name())); err == nil {
			list = append(list, note)
		}
	}
	return list
}

// roomToHold fails where the held change sets have more than the undo store may keep.
func (s *Supervisor) roomToHold(held []layerNote) error {
	var sum int64
	for _, n := range held {
		sum += n.Bytes
	}
	if most := s.Undo.MostBytes(); most <= 0 || sum <= most {
		return nil
	}
	return &RequestError{fmt.Sprintf("%d held change sets have %s, more than files.undo.keep_bytes: land or drop some "+
		"(sbx changes)", len(held), files.SizeText(sum))}
}

// chosen are the runs of a session whose change sets are held by choice, the oldest first: its next commands see them.
// What is held for another reason is not seen, as it may never land.
func chosen(sess *Session, held []layerNote) (execs []string) {
	list := slices.DeleteFunc(held, func(n layerNote) bool {
		return !n.Chosen || n.Stale != "" || n.Session != sess.ID || n.Project != sess.Root
	})
	slices.SortFunc(list, func(a, b layerNote) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Exec, b.Exec)) })
	for _, n := range list {
		execs = append(execs, n.Exec)
	}
	return execs
}

// writer is the requester of the command that wrote a change set, the opener of its session, and the agent.
type writer struct {
	Requester, Opener Peer
	Agent             approval.Agent
}

// writer is who had a run's changes made, for their record.
func (e *Exec) writer() json.RawMessage {
	b, err := json.Marshal(writer{Requester: e.Peer, Opener: e.Session.Peer, Agent: e.Session.Agent})
	if err != nil {
		panic(err) // numbers and strings only
	}
	return b
}

// InPlaceOf returns a session in the place of the one whose command wrote a change set, which is held or can be undone,
// and the command's requester. A question that an approver has had asked in it is answered by neither. Call done after
// it.
func (s *Supervisor) InPlaceOf(id string) (sess *Session, requester Peer, done func(), err error) {
	_, note, err := s.heldNote(id)
	r := note.Record
	if !strings.HasPrefix(id, heldPrefix) {
		if sets := s.Undo.OfExec(id); len(sets) > 0 {
			id = sets[0].ID
		}
		r, err = s.Undo.Get(id)
		if err != nil || !r.Run {
			err = noChange(id, store.ErrNotFound.Error())
		}
	}
	if err != nil {
		return nil, Peer{}, nil, err
	}
	if sess, err = s.sessionOf(r); err != nil {
		return nil, Peer{}, nil, err
	}
	var by writer
	if len(r.By) > 0 { // a run that was cut off twice has none
		if err := json.Unmarshal(r.By, &by); err != nil {
			return nil, Peer{}, nil, err
		}
	}
	sess.ID, sess.Kind = "s-"+strings.ToLower(ulid.Make().String()), KindCLI
	sess.Label, sess.Agent = "changes of a run", by.Agent
	if by.Opener.PID != 0 {
		sess.Peer = by.Opener
	}
	return sess, by.Requester, func() {
		sess.files.close()
		s.Approval.CloseSession(sess.Ref())
	}, nil
}

// heldSteps are the steps of a held change set, for people and for the judgement. It implements files.Kept.
type heldSteps struct {
	files.Kept // nil: no content is asked for
	steps      []files.Step
}

func (h *heldSteps) Steps() []files.Step { return h.steps }
func (h *heldSteps) HasContent(int) bool { return false }

// HeldChange is a change set that did not land.
type HeldChange struct {
	ID, Exec, Session string
	Project           string
	Time              time.Time
	Command           string
	Why               string // it is held
	Digest            string
	snapshot.Changes             // the paths that have not landed
	Conflicts         []string   // paths that somebody else changed since the run began
	Files             []HeldFile // of one change set only
}

// HeldFile is one path of a change set for a person. Shown is its difference; nil where What says everything.
type HeldFile struct {
	Path, What string
	Shown      *approval.Presentation
}

// Held shows a change set that a session may land.
func (s *Supervisor) Held(ctx context.Context, sess *Session, peer Peer, id string) (HeldChange, error) {
	c, err := s.heldChange(sess, id)
	if err != nil {
		return c, err
	}
	out, err := s.File(ctx, sess, peer, FileRequest{
		Request: files.Request{Op: files.Undo}, UndoID: id, Held: true, DryRun: true,
	})
	c.Files = out.Files
	return c, err
}

// judgeHeld judges the landing of a held change set as the writes that it is, and asks what the landing asks. One that
// is dropped writes nothing. That of a run that has just ended asks only about changes that its words did not show.
func judgeHeld(rules *files.Rules, u *undoing, paths []string, drop, ended bool) files.Verdict {
	v := rules.JudgeUndo(u.id, u.steps, false)
	what, _ := strings.CutPrefix(v.Description, "Undo ")
	v.Description = "Land " + what
	op := "land"
	if ended {
		_, what, _ = strings.Cut(what, ": ")
		v.Description = "Land what the command wrote: " + what
		v.Reasons, v.Protected, v.Delete, v.Outside, v.Risk = nil, false, false, false, approval.RiskNormal
	}
	if v.Decision != files.Block || ended {
		v = withAsks(v, u.asks)
	}
	if drop {
		v = rules.JudgeUndo(u.id, nil, false)
		v.Description, op = fmt.Sprintf("Drop the held change set %s (%d paths)", u.id, len(u.steps)), "drop"
		if len(paths) > 0 {
			_, what, _ = strings.Cut(what, ": ")
			v.Description = fmt.Sprintf("Drop a part of the held change set %s: %s", u.id, what)
		}
		v.Decision, v.Safe, v.Why, v.Rule = files.Ask, false, "it deletes what the command wrote", "files"
		v.Reasons = []string{v.Why}
	}
	v.Payload = map[string]any{"op": op, "change": u.id}
	if len(paths) > 0 {
		v.Payload["paths"] = paths
	}
	return v
}

// withAsks adds the landing's questions to a verdict.
func withAsks(v files.Verdict, asks []landAsk) files.Verdict {
	if len(asks) == 0 {
		return v
	}
	var reasons []string
	for _, a := range asks {
		v.Protected = v.Protected || a.Guarded
		reasons = append(reasons, a.String())
	}
	if n := len(reasons) - maxAsksShown; n > 0 {
		reasons = append(reasons[:maxAsksShown], fmt.Sprintf("and %d more", n))
	}
	v.Decision, v.Safe, v.Configured, v.Risk = files.Ask, false, false, approval.RiskHigh
	v.Why, v.Rule, v.Reasons = reasons[0], "landing", append(reasons, v.Reasons...)
	return v
}

// maxAsksShown bounds how many reasons of a landing's question are shown one by one.
const maxAsksShown = 10
