package broker

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// hostDirs are where name services, time zones and the runtime read: nsswitch.conf(5).
var hostDirs = []string{
	"/usr", "/lib", "/lib64", "/etc", "/proc/self", "/run/systemd", "/run/nscd", "/run/nslcd", "/var/lib/sss",
	"/var/lib/extrausers",
}

const (
	read   = ll.AccessFSReadFile | ll.AccessFSReadDir
	change = ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSMakeReg | ll.AccessFSRemoveFile
)

// Confine restricts this process for good, all its threads, by Landlock: it lists
// UsersDir, changes files of HeadsDir alone, reads what name services need and
// connects to sockets below /run. It executes nothing, signals nobody, and has
// no TCP. A right that the kernel can't restrict is left open: the unit holds the same by
// other means. Descriptors that are open already keep their rights.
func (b *Broker) Confine() error {
	if _, err := ll.LandlockGetABIVersion(); err != nil {
		b.Log.Warn("not restricted by Landlock", "error", err)
	}
	err := landlock.V11.BestEffort().Restrict(
		landlock.PathAccess(read, hostDirs...).IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSReadDir|ll.AccessFSResolveUnix, b.UsersDir).IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSResolveUnix, "/run", "/var/lib/sss").IgnoreIfMissing(),
		landlock.PathAccess(read|change, b.HeadsDir).IgnoreIfMissing(),
	)
	if err != nil {
		return fmt.Errorf("restrict the broker: %w", err)
	}
	return nil
}
