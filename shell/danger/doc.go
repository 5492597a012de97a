// Package danger recognises commands that destroy more than a file or two, or that affect more
// than the project: recursive deletes, writes to devices, modes for everyone, forced pushes,
// code from the network, fork bombs.
//
// It checks the analysed words, so quoting, a path before the name, wrappers and the order of
// options make no difference. An unknown word counts against the command.
package danger
