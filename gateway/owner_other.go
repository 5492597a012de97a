//go:build !linux

package gateway

import "net"

// lookUp knows nothing here: the secrets alone decide.
func lookUp(local, remote net.Addr) owner { return owner{} }

// bootID is not looked at here.
func bootID() string { return "" }
