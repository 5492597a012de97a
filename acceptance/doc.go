// Package acceptance has no code: its tests run the real binaries, as root and
// as an ordinary user, against the real kernel, and enter by sbx or by the
// daemon's sockets only.
package acceptance
