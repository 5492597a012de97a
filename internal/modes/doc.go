// Package modes says whether the modes of files bind this process, and removes trees with closed directories.
package modes

// Bind reports whether this process has only the rights that the mode of a file gives its owner: it is an ordinary
// user's, or root's without CAP_DAC_OVERRIDE (capabilities(7)), as in a sandbox.
func Bind() bool { return bind() }
