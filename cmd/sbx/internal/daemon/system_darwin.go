package daemon

import "os"

// passwdCommand prints a user's line of the password database, given the uid.
var passwdCommand = []string{"/usr/bin/id", "-P"}

// closeOnExec keeps descriptors that sbx inherited from reaching the daemon.
func closeOnExec() error { return closeOnExecList("/dev/fd") }

// insideSandbox says how this process can tell that it is inside a sandbox; "" if it
// is in none.
func insideSandbox() string {
	if os.Getenv("SBX_SANDBOX") != "" {
		return "SBX_SANDBOX is set"
	}
	return ""
}
