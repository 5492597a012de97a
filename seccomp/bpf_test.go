package seccomp

import (
	"encoding/binary"
	"fmt"
)

// Return values of include/uapi/linux/seccomp.h.
const (
	retKillProcess = 0x80000000
	retErrno       = 0x00050000
	retAllow       = 0x7fff0000
	retUserNotif   = 0x7fc00000
)

// reported means the listener's answer.
const reported Answer = -2

// data is struct seccomp_data, which a filter reads.
type data struct {
	number int32
	token  uint32
	args   [6]uint64
}

func (d data) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(d.number))
	b = binary.LittleEndian.AppendUint32(b, d.token)
	b = binary.LittleEndian.AppendUint64(b, 0x401000)
	for _, a := range d.args {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

// evaluate runs a filter as the kernel would (Documentation/networking/filter.rst), knowing only the instructions
// that libseccomp and chain write. It says what came out, how many instructions that took, and whether arguments were
// looked at: where they were not, the kernel answers from its cache.
func evaluate(program []instruction, d data) (answer Answer, steps int, args bool, err error) {
	memory := d.bytes()
	var a, x uint32
	var scratch [16]uint32
	for pc := 0; pc < len(program); pc++ {
		steps++
		i := program[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(i.jt)
			} else {
				pc += int(i.jf)
			}
		}
		switch i.code {
		case 0x20: // LD | W | ABS
			if int(i.k)+4 > len(memory) || i.k%4 != 0 {
				return 0, steps, args, fmt.Errorf("instruction %d loads from %d", pc, i.k)
			}
			args = args || i.k >= 16
			a = binary.LittleEndian.Uint32(memory[i.k:])
		case 0x54: // ALU | AND | K
			a &= i.k
		case 0x02: // ST
			scratch[i.k] = a
		case 0x60: // LD | MEM
			a = scratch[i.k]
		case 0x07: // TAX
			x = a
		case 0x87: // TXA
			a = x
		case opJump:
			pc += int(i.k)
		case 0x15: // JEQ | K
			jump(a == i.k)
		case 0x25: // JGT | K
			jump(a > i.k)
		case 0x35: // JGE | K
			jump(a >= i.k)
		case 0x45: // JSET | K
			jump(a&i.k != 0)
		case opReturn:
			switch i.k & 0xffff0000 {
			case retKillProcess:
				return Kill, steps, args, nil
			case retErrno:
				return Answer(i.k & 0xffff), steps, args, nil
			case retAllow:
				return Allow, steps, args, nil
			case retUserNotif:
				return reported, steps, args, nil
			}
			return 0, steps, args, fmt.Errorf("instruction %d returns %#x", pc, i.k)
		default:
			return 0, steps, args, fmt.Errorf("instruction %d has code %#x", pc, i.code)
		}
	}
	return 0, steps, args, fmt.Errorf("ran off the end")
}
