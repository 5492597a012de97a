package landlocktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"sandboxd/landlock/lsm"
)

// Decode reads the binary form of a ruleset. It accepts exactly the output of
// [lsm.Ruleset.MarshalBinary]: a byte too few or too many is an error.
func Decode(data []byte) (lsm.Ruleset, error) {
	d := decoder{rest: data}
	if string(d.take(4)) != "LLR2" {
		return lsm.Ruleset{}, errors.New("decode ruleset: not a Landlock ruleset of this version")
	}
	out := lsm.Ruleset{
		HandledFS:  lsm.AccessFS(d.u64()),
		HandledNet: lsm.AccessNet(d.u64()),
		Scoped:     lsm.Scope(d.u64()),
		Flags:      lsm.Flags(d.u32()),
	}
	paths, ports := d.u32(), d.u32()
	if paths > lsm.MaxPaths || ports > 1<<16 {
		return out, fmt.Errorf("decode ruleset: %d paths and %d ports are too many", paths, ports)
	}
	for range paths {
		rule := lsm.PathRule{Access: lsm.AccessFS(d.u64())}
		optional := d.take(1)
		rule.Path = string(d.take(int(d.u16())))
		end := d.take(1)
		if d.err != nil {
			break
		}
		if optional[0] > 1 {
			return out, fmt.Errorf("decode rule %q: optional is %d", rule.Path, optional[0])
		}
		if end[0] != 0 || !strings.HasPrefix(rule.Path, "/") || len(rule.Path) > 4095 || strings.Contains(rule.Path, "\x00") {
			return out, fmt.Errorf("decode rule %q: not an absolute path of at most 4095 bytes", rule.Path)
		}
		rule.Optional = optional[0] == 1
		out.Paths = append(out.Paths, rule)
	}
	for range ports {
		rule := lsm.PortRule{Port: d.u16(), Access: lsm.AccessNet(d.u64())}
		if d.err != nil {
			break
		}
		out.Ports = append(out.Ports, rule)
	}
	if d.err != nil {
		return out, fmt.Errorf("decode ruleset: %w", d.err)
	}
	if len(d.rest) > 0 {
		return out, fmt.Errorf("decode ruleset: %d bytes too many", len(d.rest))
	}
	return out, nil
}

// decoder reads from the front of rest; after the first failure it yields zeroes.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n > len(d.rest) {
		d.err = errors.New("cut short")
		return nil
	}
	head := d.rest[:n]
	d.rest = d.rest[n:]
	return head
}

func (d *decoder) u16() uint16 {
	if b := d.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
