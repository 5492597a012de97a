// Package seatbelt writes a profile as SBPL, the language of the macOS sandbox, for
// sandbox-exec(1).
//
// The promise: default deny, and the text allows nothing that [profile.Profile.Allows] forbids, the
// system's own runtime files aside ([Runtime]). Where SBPL cannot express a rule, less is granted,
// and a gap reports it. Compiling is pure and works on every system; the text is the same
// everywhere, without any path or name of the profile: they are parameters, so no file name can
// change its meaning.
//
//	result, err := seatbelt.Compile(p)
//	…
//	cmd := exec.Command("/usr/bin/sandbox-exec", append(result.Args(), "/bin/ls", "-l")...)
//
// # How the text is built
//
// In SBPL the last rule that matches decides, but a rule for file-write-unlink beats one for
// file-write*, in any order. So the text is written to mean the same both ways: path rules, a
// directory before its entries, always name the same operations; then come denials of single
// operations that nothing allows again. The sandbox sees the resolved path of an opened file: /tmp,
// /var and /etc become /private/tmp and so on, and denials also hold below /System/Volumes/Data,
// where the same files can be reached a second time.
//
// Rules by name become regular expressions that ignore case, as most volumes do.
//
// # Limitations
//
//   - There is no empty directory to put in a private one's place: private paths are hidden. Give
//     the command a directory of its session as HOME and TMPDIR.
//   - There is no network namespace. A loopback of one's own does not exist, so mode loopback has
//     no IP at all, and mode allowlist only the local port of the proxy ([Host]).
//   - A directory cannot be distinguished from its entries: one with a protected entry deeper down,
//     which no path rule mentions and [Host.Found] does not name, can still be renamed; and a
//     directory can be moved to a name under which its content would be protected. Changes under
//     protected names are checked after the run.
//   - Hidden names show no metadata either, and pinned entries cannot be removed even when empty.
//   - Names that differ only in Unicode normalisation are different here, and may be the same on
//     the volume.
//   - POSIX semaphores have no namespace and are allowed (Python's multiprocessing needs them);
//     shared memory is not.
//   - Apple calls sandbox-exec deprecated and documents neither it nor the language. The facts used
//     here come from Chromium (sandbox/policy/mac), Nix (libstore/build/sandbox-defaults.sb), Codex
//     (seatbelt_base_policy.sbpl) and Apple's own profiles in /System/Library/Sandbox/Profiles.
package seatbelt
