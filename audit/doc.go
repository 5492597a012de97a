// Package audit keeps the record of every decision and every execution.
//
// The promise: when [Log.Append] returns nil, the record is on the disk
// (fdatasync(2)), chained to the one before it; when it returns an error, the
// caller must not do what it wanted to record. [Verify] then finds any record
// that was changed, removed, inserted or moved; with an [Anchor] that was kept
// elsewhere, also a tail that was cut off and a log that was rewritten whole.
// What has happened already ([Log.PutAfter]) stands in the file before anybody is told
// of it, and is on the disk some milliseconds later.
//
//	log, err := audit.Open(dir, audit.Options{})
//	...
//	err = log.Append(audit.Record{Category: audit.Decision, Tool: "bash", Decision: "approved"})
//	...
//	summary, err := audit.Verify(dir) // err names the first bad record
//
// A log is a directory of its own with files 00000001.jsonl, 00000002.jsonl, …
// A line is one JSON object: "seq" and "prev" first, then the record, then
// "hash", which is the SHA-256 of everything that stands before it in the line, in
// hexadecimal; "prev" is the hash of the line before, across files. So any
// program can check a log: no canonical form has to be agreed on, the bytes count.
// Everything that is not printable is escaped in the JSON, so that
// showing a raw line on a terminal is harmless.
//
// Records are put on the disk in a file beside them, "redo", which does not grow, and in the
// log's own files less often: a file that grows costs the file system more. What a loss
// of power takes from the newest file, [Open] takes from there; [Verify], before that, says
// how much it is.
//
// [Log.AppendStart] also reserves room for the record of the end, so that a disk that is
// filled meanwhile loses none. Without that room it fails.
//
// One process at a time may hold a log open.
//
// # Limitations
//
// The hashes are not keyed: who may write the files can compute a new chain.
// Only an anchor that they cannot reach (a journal, another host), or cannot have
// signed, shows that.
// Text that is not UTF-8 is recorded with U+FFFD in the place of what cannot be
// expressed. Where old files are removed (Options.Keep), what was in them can't be
// compared with an anchor any more; the record of the removal holds the hash of
// the last of them, and so the chain still begins somewhere that is on record.
package audit
