// Package differential holds tests only: it enforces profiles on a real kernel and
// compares the permitted operations with the answers of [sandboxd/profile.Profile.Allows].
//
// The promise: the acts that the kernel permits are a part of those that the oracle
// allows, always; and the two are equal wherever the mechanisms reported no
// gap (R-OS-02).
//
//	go test ./differential                             # 200 profiles for each way
//	DIFFERENTIAL_PROFILES=5000 go test -timeout 2h ./differential
//
// For every generated profile the test makes a tree of real files, starts the
// test binary once more inside the sandbox, lets it try some hundred things
// and compares each outcome. It does so with bwrap and Landlock as root and
// as an ordinary user, and with Landlock alone as an ordinary user. Then the
// tree is compared with its earlier state: nothing may have changed but the entries that
// an allowed operation changed, and no placeholder may be left.
//
// # Limitations
//
// System calls, limits and environment are not probed here; they have tests of
// their own beside the mechanisms. Ordinary users are simulated by a numeric
// uid, so the tests run as root.
package differential
