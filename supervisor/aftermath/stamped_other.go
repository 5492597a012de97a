//go:build !linux

package aftermath

import "os"

// stamped is not known here: every directory is read anew.
func stamped(*os.File) bool { return false }
