//go:build cgo

package seccomp_test

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/seccomp"
	"sandboxd/seccomp/seccomptest"
)

// A filter holds for the thread that loads it and for what that thread executes.
func Example() {
	program, gaps, err := seccomp.Compile(profile.Profile{}, seccomp.Native())
	if err != nil || len(gaps) > 0 {
		panic(fmt.Sprint(err, gaps))
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this function
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		if err := seccomptest.Filter(program); err != nil {
			panic(err)
		}
		done <- unix.Unshare(unix.CLONE_NEWUSER)
	}()
	fmt.Println(<-done)
	// Output:
	// operation not permitted
}
