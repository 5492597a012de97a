// Package lsm is the kernel's side of Landlock: its rights by name, those of each ABI, and one
// layer as plain data with a compact binary form, which cmd/sandboxd-launch puts in force. It knows
// no profiles.
//
// Rulesets stack: each that is applied restricts further.
package lsm
