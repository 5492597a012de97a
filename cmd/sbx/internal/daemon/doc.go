// Package daemon finds the sandboxd that serves this person, or starts one.
//
// The promise (R-IP-09): nothing is said to a socket that another user serves;
// the only program that is ever started is the sandboxd in sbx's own directory,
// checked to be this user's or root's, under a lock, detached, in the
// directory /, with a fixed PATH, the home directory of the password database,
// and nothing else of the caller's environment; and none is started from
// inside a sandbox, or where the operator forbids it.
//
//	place, err := daemon.Locate(daemon.Options{SocketDir: flag})
//	...
//	err = place.Ensure(ctx) // a daemon answers there now
//	client := ipc.Client{Socket: place.Agent()}
//
// # Where it looks
//
// A directory that was named (--socket-dir, SBX_SOCKET_DIR) is the only one
// looked at. Else the system's daemon in /run/sandboxd is used where it runs as
// root and serves this user. Else the user's own directory is the first of
// these that belongs to the user and is closed to others:
// $XDG_RUNTIME_DIR/sandboxd, /run/user/UID/sandboxd; else /run/sandboxd for
// root, /tmp/sandboxd-UID for others.
//
// # Limitations
//
// A process inside a sandbox is recognised by properties that the sandbox cannot
// hide (its first process, its filters) and by a variable that it sets. A
// program that forges neither can still start sandboxd itself: a daemon inside a
// sandbox is as confined as its starter, so that gains it nothing.
package daemon
