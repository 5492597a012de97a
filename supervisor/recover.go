package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sandboxd/audit"
	"sandboxd/files"
	"sandboxd/files/store"
	"sandboxd/files/worker"
	"sandboxd/supervisor/aftermath"
)

// pruneEvery is the interval between deletions of expired records.
const pruneEvery = 10 * time.Minute

// keepFiles settles the changes that an earlier daemon left, and then deletes from time to
// time the records beyond the age or size that the configuration keeps.
func (s *Supervisor) keepFiles() {
	defer s.keeping.Done()
	s.recoverLayers(false)
	s.recoverSnapshots(s.recoverRuns())
	unread := s.recoverLayers(true)
	s.recoverCreated()
	close(s.looked)
	s.recoverChanges()
	close(s.recovered)
	s.keeping.Go(func() { s.readLayers(unread) })
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		s.forgetOld()
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// recoverChanges settles the changes whose outcome is
// unknown. One that can't be settled now stays: nothing of it is lost.
func (s *Supervisor) recoverChanges() {
	for _, r := range s.Undo.Pending() {
		ctx, cancel := context.WithTimeout(s.ctx, workerTime)
		sess, err := s.sessionOf(r)
		if err == nil {
			err = s.settle(ctx, sess, r)
		}
		cancel()
		rec := audit.Record{Category: audit.File, Operation: "settle", Session: r.Session, ExecID: r.ID, Subject: r.Project}
		if err != nil {
			rec.Error = err.Error()
		}
		if s.record(rec) != nil {
			return // nothing is done unrecorded
		}
	}
}

// sessionOf represents the session that made a change and has ended.
func (s *Supervisor) sessionOf(r store.Record) (*Session, error) {
	name, home, err := account(os.Geteuid())
	if err != nil {
		return nil, err
	}
	root, err := s.guard(home).check(r.Project)
	if err != nil {
		return nil, err
	}
	return &Session{ID: r.Session, Kind: KindAPI, Peer: Peer{UID: os.Geteuid(), PID: os.Getpid()}, Root: root, Home: home,
		User: name, turn: 1}, nil
}

// settle has a worker determine the outcome of a change that was cut off and remove
// its temporary files, and notes the outcome.
func (s *Supervisor) settle(ctx context.Context, sess *Session, r store.Record) error {
	cfg, _, err := s.projectConfig(sess)
	if err != nil {
		return err
	}
	j := &fileJudgement{cfg: cfg}
	if err := s.fileRules(sess, j); err != nil {
		return err
	}
	p, operator, err := s.profiles(cfg, sess, s.trusted(sess, cfg), "none")
	if err != nil {
		return err
	}
	// The change's grants are granted for settling it.
	if p, err = widenFiles(p, operator, protectedPlaces(p, stepPaths(r.Steps))); err != nil {
		return err
	}
	plan, err := s.workerPlan(cfg, p, operator)
	if err != nil {
		return err
	}
	var made int
	err = s.once(ctx, plan, j.setup, func(client *worker.Client) (err error) {
		if made, err = client.Settle(ctx, r.Steps); err != nil || made == 0 || made == len(r.Steps) || r.Takes == nil {
			return err
		}
		made, err = s.finishUndo(ctx, client, j.rules, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle change %q: %w", r.ID, err)
	}
	return s.Undo.Settle(r.ID, made)
}

// finishUndo has the worker do the rest of an undo that was cut off, and returns how many of its steps are made then.
// It does none of them where what it finds is not what the undo was to find.
func (s *Supervisor) finishUndo(
	ctx context.Context, client *worker.Client, rules *files.Rules, r store.Record,
) (made int, err error) {
	again, err := s.Undo.Resume(r.ID)
	if err != nil {
		return 0, err
	}
	kept, err := s.taken(rules, r)
	if err == nil {
		how := r.Takes.How
		how.Again = true
		_, err = client.Undo(ctx, kept, how, again)
	}
	switch {
	case err == nil:
		return len(r.Steps), nil
	case errors.Is(err, worker.ErrBroken):
		return 0, err
	}
	return client.Settle(ctx, again.Steps())
}

// taken is what an undo takes back.
func (s *Supervisor) taken(rules *files.Rules, r store.Record) (files.Kept, error) {
	u := &undoing{id: r.Takes.ID}
	var err error
	if parts := s.Undo.OfExec(u.id); len(parts) > 1 {
		u.kept, err = s.Undo.Parts(parts)
	} else {
		if len(parts) == 1 {
			u.id = parts[0].ID
		}
		u.kept, err = s.Undo.Kept(u.id)
	}
	if err == nil && len(r.Takes.Paths) > 0 {
		err = u.only(rules, r.Takes.Paths)
	}
	return u.kept, err
}

// configureUndo configures how much the undo store keeps.
func (s *Supervisor) configureUndo() files.Retention {
	keep := s.Config().Files.Undo
	s.Undo.Configure(store.Options{KeepFor: keep.KeepFor, KeepBytes: keep.KeepBytes})
	return keep
}

// forgetOld applies the retention in force.
func (s *Supervisor) forgetOld() {
	keep := s.configureUndo()
	_ = aftermath.Reserve(s.trash) // tried again before each run
	_, err := s.Undo.Prune()
	if serr := s.Undo.PruneSnapshots(); err == nil {
		err = serr
	}
	if terr := s.pruneTrash(keep.KeepFor, keep.KeepBytes, time.Now()); err == nil {
		err = terr
	}
	if err != nil {
		// Too much is kept, not too little: worth a note, and no reason to stop.
		_ = s.record(audit.Record{Category: audit.File, Operation: "forget", Error: err.Error()})
	}
}
