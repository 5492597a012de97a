// Package worker performs file operations in a process of its own, which the daemon starts inside
// the session's sandbox.
//
// The worker's side is one call:
//
//	conn, err := worker.Inherit(0) // the socket that the daemon gave us as standard input
//	err = worker.Serve(conn)       // until the daemon hangs up
//
// The daemon's side:
//
//	client, err := worker.NewClient(conn, worker.Setup{Config: cfg.Files, Place: place})
//	facts, err := client.Facts(ctx, req)             // the real paths and entries
//	preview, err := client.Preview(ctx, req)         // old and new content, for a person to see
//	result, err := client.Do(ctx, req, facts, keeper) // perform it, if the facts are the same
//
// Before the worker changes anything, it sends the steps and, opened for reading, the content that
// would be lost; it continues when the keeper (the undo store) has them on disk. A worker that dies
// in between leaves the keeper's record to Settle, which compares the entries of all its names with
// the steps, counts the steps made, and removes temporary files.
//
// The worker judges by the same rules as the daemon and refuses blocked paths, so that a daemon
// that forgets to ask cannot make it read a hidden file. It is not the boundary: that is the
// sandbox around it.
//
// # Wire
//
// A frame is two lengths (4 bytes each, big endian: head and body), the head (JSON) and the body
// (raw content). Descriptors travel with the first byte of a frame. The daemon asks, the worker
// answers; between question and answer of a change the worker may ask the keeper. The two sides are
// always the same program, so there is no version.
package worker
