// Package store keeps what changes would lose, so that they can be undone. It is
// the daemon's: it lies in a folder that no sandbox reaches, and it is the
// keeper that a worker waits for.
//
//	s, err := store.Open("/home/ann/.local/state/sandboxd", store.Options{KeepFor: 7 * 24 * time.Hour, KeepBytes: 1 << 30})
//	change, err := s.Begin(store.Record{ID: id, Session: session, Op: files.Edit})
//	result, err := client.Do(ctx, req, facts, change)
//	err = change.Finish(err)
//
// A change is on disk, content and record, before the worker makes it. Finish
// says what became of it: made (it can be undone now), not made (nothing is
// kept), made in part (the part can be undone), or not known, when the worker
// died; then the record is pending until Settle has looked.
//
//	for _, r := range s.Pending() {
//		made, err := client.Settle(ctx, r.Steps)
//		err = s.Settle(r.ID, made)
//	}
//	kept, err := s.Kept(id)
//	result, err := client.Undo(ctx, kept, false, undoing)
//
// # On disk
//
// undo/ID/record.json is the record, undo/ID/N the content that step N would
// lose, if the path goes on to hold something; what is deleted or displaced
// for good lies in trash/ID/N-NAME, under its own name, so that a person can get
// at it without a tool. Everything is mode 0600 or 0700. A record is written
// under another name and renamed; contents are on disk before it.
//
// # Limitations
//
// Contents are whole copies. Two edits of a large file keep it twice.
//
// Where the store is full, a session loses its own oldest changes to what it does
// next as soon as it has more than any other. One program that opens many sessions
// in a project can displace what other sessions have in that project, and of
// another project what is beyond an even share.
package store
