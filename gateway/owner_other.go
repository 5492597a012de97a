//go:build !linux

package gateway

import "net"

// lookUp knows nothing here: the secrets alone decide.
func lookUp(local, remote net.Addr) owner { return owner{} }

// socketOwner neither.
func socketOwner(local, remote net.Addr) (uid int, inode string, known bool) { return 0, "", false }

// bootID is not looked at here.
func bootID() string { return "" }
