package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Devices belong to root, and so does a sandbox of root's daemon: by a mount that
// can be written, or by a descriptor that was opened on one, it could change the
// mode of the machine's own /dev/null. A device on a read-only mount stays
// usable. bwrap has no option for that (it makes a read-only mount "nodev" too),
// so it finds its devices on such mounts, in a mount namespace of this thread's.

// canHoldDevices reports whether no command can change the machine's devices:
// they belong to somebody else, or guarded can make its mount namespace.
func canHoldDevices() bool {
	if os.Geteuid() != 0 {
		return true
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with its namespace
		done <- unix.Unshare(unix.CLONE_NEWNS)
	}()
	return <-done == nil
}

// guarded runs start in a mount namespace where devices can't be changed, and
// returns /dev/null as it is there. Where no such namespace is needed or to be had
// (canHoldDevices; the report says so) it is start alone. After an error from a step behind start
// the started process may run.
func guarded(devices []string, start func() error) (null *os.File, err error) {
	if os.Geteuid() != 0 || len(devices) == 0 {
		return nil, start()
	}
	back, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("find the mount namespace: %w", err)
	}
	defer unix.Close(back)
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	defer unix.Close(root)
	if err := unix.Unshare(unix.CLONE_NEWNS); err == unix.EPERM {
		return nil, start()
	} else if err != nil {
		return nil, fmt.Errorf("make a mount namespace: %w", err)
	}
	if err = holdDevices(devices); err == nil {
		fd, failed := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err = failed; err == nil {
			null = os.NewFile(uintptr(fd), os.DevNull)
			err = start()
		}
	}
	// The thread returns to its directory and its root, which is not the namespace's own under chroot(2).
	for _, step := range []func() error{
		func() error { return unix.Setns(back, unix.CLONE_NEWNS) }, func() error { return unix.Fchdir(root) },
		func() error { return unix.Chroot(".") },
	} {
		if failed := step(); failed != nil && err == nil {
			err = fmt.Errorf("leave the mount namespace: %w", failed)
		}
	}
	if err != nil && null != nil {
		null.Close()
		null = nil
	}
	return null, err
}

func holdDevices(devices []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	for _, d := range devices {
		err := unix.Mount(d, d, "", unix.MS_BIND, "")
		if err == nil {
			err = unix.Mount("", d, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, "")
		}
		if err != nil {
			return fmt.Errorf("hold the device %q: %w", d, err)
		}
	}
	return nil
}

// devicesOf lists the devices of the host that bwrap's arguments name.
func devicesOf(args []string) (list []string) {
	for i, a := range args {
		switch {
		case a == "--dev-bind" && i+1 < len(args):
			list = append(list, args[i+1])
		case a == "--dev":
			list = append(list, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// held puts null in the place of a /dev/null that was opened elsewhere, and of no
// standard input.
func (s Stdio) held(null *os.File) Stdio {
	if null == nil {
		return s
	}
	if s.In == nil {
		s.In = null
	}
	for _, f := range []**os.File{&s.In, &s.Out, &s.Err} {
		if *f == null {
			continue
		}
		info, err := (*f).Stat()
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3) {
			*f = null
		}
	}
	return s
}
