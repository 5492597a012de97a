//go:build !linux

package aftermath

import "os"

// stamped is not known here: every directory is read again.
func stamped(*os.File) bool { return false }
