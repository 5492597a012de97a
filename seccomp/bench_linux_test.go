//go:build cgo

package seccomp

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/seccomp/seccomptest"
)

// onThread runs f on a thread of its own, which ends with it and takes the filters along.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// The kernel checks the program and works out which calls it allows whatever their arguments.
func BenchmarkLoad(b *testing.B) {
	program := filterOf(b, profile.NetLoopback)
	for b.Loop() {
		if err := onThread(func() error { return seccomptest.Filter(program) }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		filterOf(b, profile.NetLoopback)
	}
}

// One system call that the kernel answers from its cache, and one whose arguments the filter reads.
func BenchmarkCall(b *testing.B) {
	program := filterOf(b, profile.NetLoopback)
	for name, call := range map[string]func(){
		"getppid": func() { unix.Getppid() },
		"ioctl":   func() { unix.IoctlGetInt(-1, unix.TIOCINQ) },
	} {
		for _, under := range []string{"bare", "filtered"} {
			b.Run(name+"/"+under, func(b *testing.B) {
				err := onThread(func() error {
					if under == "filtered" {
						if err := seccomptest.Filter(program); err != nil {
							return err
						}
					}
					b.ResetTimer()
					for range b.N {
						call()
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
