// Package danger recognises commands that destroy more than a file or two, or
// that reach past the project: recursive deletes, writes to devices, modes for
// everyone, forced pushes, code from the network, fork bombs.
//
// It looks at the analysed words, so quoting, paths in front of the name,
// wrappers and the order of options make no difference. A word that is not known
// counts against the command.
package danger
