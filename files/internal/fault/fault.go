// Package fault names the moments at which a test may end the process, so that
// what a death leaves behind can be looked at. Outside of tests nobody sets a
// hook, and a point costs one load.
package fault

import "sync/atomic"

var hook atomic.Pointer[func(point string)]

// Point marks a moment by name.
func Point(name string) {
	if f := hook.Load(); f != nil {
		(*f)(name)
	}
}

// Set makes f see every point; nil takes it away.
func Set(f func(point string)) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}
