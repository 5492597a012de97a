package supervisor

import (
	"encoding/json"
	"os"

	"sandboxd/approval"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
)

// publish publishes the state of the change set of a run to the approvers, and in the run's own events; run is nil
// where that has ended. r is the record of the run.
func (s *Supervisor) publish(r store.Record, run *Exec, set approval.ChangeSet, c snapshot.Changes) {
	set.Exec, set.Project = r.Exec, r.Project
	set.Created, set.Modified, set.Deleted = len(c.Created), len(c.Modified), len(c.Deleted)
	var by writer
	_ = json.Unmarshal(r.By, &by) // a run that was cut off twice has none
	ref := approval.SessionRef{Principal: approval.Principal{UID: os.Geteuid()}, ID: r.Session}
	s.Approval.PublishChange(ref, by.Agent, set)
	if run == nil {
		return
	}
	kind := EventChanges
	if set.State == approval.ChangeLanded {
		kind = EventLanded
	}
	run.log.add(Event{Kind: kind, Change: &set})
}

// heldSet is a held change set in an event.
func (s *Supervisor) heldSet(note layerNote, state approval.ChangeState) (approval.ChangeSet, snapshot.Changes) {
	c, _ := s.heldChange(&Session{Kind: KindCLI, Root: note.Project}, heldID(note.Exec)) // one that can't be read is empty
	return approval.ChangeSet{ID: heldID(note.Exec), Digest: c.Digest, State: state, Why: c.Why}, c.Changes
}

// publishUndone publishes that a run was taken back by the change of the record; it does nothing for other changes.
func (s *Supervisor) publishUndone(j *fileJudgement, by store.Record) {
	if j.undo == nil || !j.undo.run {
		return
	}
	for _, id := range append(j.undo.parts, j.undo.id) {
		if r, err := s.Undo.Get(id); err == nil {
			s.publish(r, nil, approval.ChangeSet{ID: r.ID, State: approval.ChangeUndone, Undo: by.ID}, snapshot.Changes{})
		}
	}
}
