// Package store stores the content that changes would lose, so that they can be undone. It is the
// daemon's, in a folder that no sandbox reaches, and it is the keeper for which a worker waits.
//
//	s, err := store.Open(dir, store.Options{KeepFor: 7 * 24 * time.Hour, KeepBytes: 1 << 30})
//	change, err := s.Begin(store.Record{ID: id, Session: session, Op: files.Edit})
//	result, err := client.Do(ctx, req, facts, change)
//	err = change.Finish(err)
//
// A change is on disk, content and record, before the worker makes it. Finish records its result:
// made (it can be undone), not made (nothing is stored), made in part (the part can be undone), or
// unknown, when the worker died; then the record is pending until Settle.
//
//	for _, r := range s.Pending() {
//		made, err := client.Settle(ctx, r.Steps)
//		err = s.Settle(r.ID, made)
//	}
//	kept, err := s.Kept(id)
//	result, err := client.Undo(ctx, kept, files.UndoHow{}, undoing)
//
// # On disk
//
// undo/ID/record.json is the record, undo/ID/N the content that step N would lose, if the path has
// content afterwards; deleted or displaced entries are in trash/ID/N-NAME, under their own names,
// so that a person can get at them without a tool. Everything is mode 0600 or 0700. A record is
// written under another name and renamed; contents are on disk before it.
//
// # Limitations
//
// Contents are whole copies: two edits of a large file store it twice.
//
// Where the store is full, a session that has more than any other loses its own oldest changes to
// its next ones. One program that opens many sessions in a project can displace the changes of
// other sessions in that project, and those of another project beyond an even share.
package store
