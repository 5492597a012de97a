// Package audit records every decision and every execution.
//
// The promise: when [Log.Append] returns nil, the record is on the disk (fdatasync(2)), chained to
// the one before it; when it returns an error, the caller must not perform the recorded action.
// [Verify] then finds any record that was changed, removed, inserted or moved; with an [Anchor]
// from outside the log, also a tail that was cut off and a log that was rewritten whole.
// [Log.PutAfter] writes completed events to the file before they are reported, and to the disk some
// milliseconds later.
//
//	log, err := audit.Open(dir, audit.Options{})
//	...
//	err = log.Append(audit.Record{Category: audit.Decision, Tool: "bash", Decision: "approved"})
//	...
//	summary, err := audit.Verify(dir) // err names the first bad record
//
// A log is a directory with files 00000001.jsonl, 00000002.jsonl, … A line is one JSON object:
// "seq" and "prev" first, then the record, then "hash", the SHA-256 in hexadecimal of all bytes
// before it in the line; "prev" is the hash of the line before, across files. Any program can check
// a log: the bytes count, no canonical form. Everything that is not printable is escaped in the
// JSON, so that a raw line is harmless on a terminal.
//
// Records are synced in a file beside them, "redo", which does not grow, and in the log's own files
// less often: a file that grows costs the file system more. [Open] restores from there the records
// that the newest file lost in a power failure; [Verify], before that, reports how many they are.
//
// [Log.AppendStart] also reserves room for the record of the end, so that a disk that is filled
// meanwhile loses none. It fails without that room.
//
// One process at a time may hold a log open.
//
// # Limitations
//
// The hashes are not keyed: anybody who may write the files can compute a new chain. Only an anchor
// out of their reach (a journal, another host, a signature) shows that. Text that is not UTF-8 is
// recorded with U+FFFD for each invalid byte. Removed files (Options.Keep) can't be compared with
// an anchor; the record of the removal has the hash of their last record, so the chain still begins
// at a recorded place.
package audit
