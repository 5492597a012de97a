//go:build !linux

package gateway

import "net"

// lookUp knows nothing here: the secrets alone decide.
func lookUp(local, remote net.Addr) owner { return owner{} }
