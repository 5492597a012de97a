package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// instruction is struct sock_filter of include/uapi/linux/filter.h, in the byte order of both architectures.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

const (
	instructionSize = 8
	maxInstructions = 4096 // BPF_MAXINSNS of include/uapi/linux/bpf_common.h

	opJump   = 0x05 // BPF_JMP | BPF_JA | BPF_K: k is a forward offset of 32 bits
	opReturn = 0x06 // BPF_RET | BPF_K

	// nextPart is SECCOMP_RET_TRACE with a number of our own: the default action of every part but the last. chain
	// replaces it, so it never reaches the kernel.
	nextPart = 0x7ff00000 | 0x5b0c
)

func decode(program []byte) ([]instruction, error) {
	if len(program) == 0 || len(program)%instructionSize != 0 {
		return nil, fmt.Errorf("seccomp program: %d bytes is not a whole number of instructions", len(program))
	}
	if n := len(program) / instructionSize; n > maxInstructions {
		return nil, fmt.Errorf("seccomp program: %d instructions, the kernel takes %d", n, maxInstructions)
	}
	list := make([]instruction, 0, len(program)/instructionSize)
	for p := program; len(p) > 0; p = p[instructionSize:] {
		list = append(list, instruction{
			code: binary.LittleEndian.Uint16(p), jt: p[2], jf: p[3], k: binary.LittleEndian.Uint32(p[4:])})
	}
	return list, nil
}

func encode(list []instruction) []byte {
	program := make([]byte, 0, len(list)*instructionSize)
	for _, i := range list {
		program = binary.LittleEndian.AppendUint16(program, i.code)
		program = append(program, i.jt, i.jf)
		program = binary.LittleEndian.AppendUint32(program, i.k)
	}
	return program
}

// chain puts programs one behind the other: where one returns nextPart, the next one is asked instead.
//
// It exists because libseccomp cannot say "this number, unless its argument is one of these": a filter has one default
// action, and one comparison per argument in a rule. snapd loads two filters for the same reason; one chained program
// costs one pass and keeps the kernel's cache of always-allowed calls, whose analysis follows plain jumps
// (seccomp_is_const_allow in kernel/seccomp.c).
func chain(parts ...[]instruction) ([]instruction, error) {
	var whole []instruction
	for n, part := range parts {
		for i, ins := range part {
			if ins.code == opReturn && ins.k == nextPart {
				if n == len(parts)-1 {
					return nil, errors.New("seccomp program: the last part has no answer of its own")
				}
				ins = instruction{code: opJump, k: uint32(len(part) - i - 1)}
			}
			whole = append(whole, ins)
		}
	}
	if len(whole) > maxInstructions {
		return nil, fmt.Errorf("seccomp program: %d instructions, the kernel takes %d", len(whole), maxInstructions)
	}
	return whole, nil
}
