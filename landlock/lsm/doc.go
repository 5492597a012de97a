// Package lsm is the kernel's side of Landlock: its rights by name, what each ABI
// handles, one layer as plain data with a compact binary form, and putting a layer
// in force on the calling thread. It knows no profiles, so that the helper, which
// only applies what was compiled elsewhere, links nothing that it does not use.
//
//	data, err := ruleset.MarshalBinary()
//	// in the helper, on a locked thread, after no_new_privs and before execve:
//	err = ruleset.UnmarshalBinary(data)
//	err = ruleset.Restrict()
//
// Rulesets stack: each that is applied restricts further.
package lsm
