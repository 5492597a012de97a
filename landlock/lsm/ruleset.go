package lsm

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A Ruleset is one Landlock layer as plain data: handled rights (refused unless a rule grants
// them), and rules. Package landlock compiles it; the zero value handles nothing and cannot be
// applied.
type Ruleset struct {
	HandledFS  AccessFS
	HandledNet AccessNet
	Scoped     Scope
	Flags      Flags
	Paths      []PathRule // sorted by path
	Ports      []PortRule // sorted by port
}

// A PathRule grants Access on Path and on everything below it.
type PathRule struct {
	Path   string // absolute; opened with O_PATH, no link followed
	Access AccessFS
	// Optional rules are left out when the path is missing or leads through a
	// symbolic link at the moment of [Restrict]; leaving one out only
	// grants less. A path that is not optional and not there is an error.
	Optional bool
}

// A PortRule grants Access on Port. Port 0 of a bind right means "a port that
// the kernel chooses".
type PortRule struct {
	Port   uint16
	Access AccessNet
}

// String prints one line per set and rule; golden tests compare it.
func (r Ruleset) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fs %v\nnet %v\nscoped %v\n", r.HandledFS, r.HandledNet, r.Scoped)
	if r.Flags != 0 {
		fmt.Fprintf(&b, "flags %v\n", r.Flags)
	}
	for _, rule := range r.Paths {
		optional := ""
		if rule.Optional {
			optional = "?"
		}
		fmt.Fprintf(&b, "path %s%s %v\n", rule.Path, optional, rule.Access)
	}
	for _, rule := range r.Ports {
		fmt.Fprintf(&b, "port %d %v\n", rule.Port, rule.Access)
	}
	return b.String()
}

// The binary form, little-endian, which cmd/sandboxd-launch reads in place:
//
//	magic[4] fs:u64 net:u64 scoped:u64 flags:u32 paths:u32 ports:u32
//	paths × { access:u64 optional:u8 length:u16 path NUL }
//	ports × { port:u16 access:u64 }
const magic = "LLR2"

// MaxPaths is how many path rules a [Ruleset] can have.
const MaxPaths = 1 << 14

const (
	maxPorts      = 1 << 16
	maxPathLength = 4095 // PATH_MAX without the NUL
)

// AppendBinary implements [encoding.BinaryAppender].
func (r Ruleset) AppendBinary(b []byte) ([]byte, error) {
	if len(r.Paths) > MaxPaths || len(r.Ports) > maxPorts {
		return nil, fmt.Errorf("encode ruleset: %d paths and %d ports are too many", len(r.Paths), len(r.Ports))
	}
	le := binary.LittleEndian
	b = append(b, magic...)
	b = le.AppendUint64(b, uint64(r.HandledFS))
	b = le.AppendUint64(b, uint64(r.HandledNet))
	b = le.AppendUint64(b, uint64(r.Scoped))
	b = le.AppendUint32(b, uint32(r.Flags))
	b = le.AppendUint32(b, uint32(len(r.Paths)))
	b = le.AppendUint32(b, uint32(len(r.Ports)))
	for _, rule := range r.Paths {
		if !validPath(rule.Path) {
			return nil, fmt.Errorf("encode rule %q: not an absolute path of at most %d bytes", rule.Path, maxPathLength)
		}
		b = le.AppendUint64(b, uint64(rule.Access))
		b = append(b, boolByte(rule.Optional))
		b = le.AppendUint16(b, uint16(len(rule.Path)))
		b = append(append(b, rule.Path...), 0)
	}
	for _, rule := range r.Ports {
		b = le.AppendUint16(b, rule.Port)
		b = le.AppendUint64(b, uint64(rule.Access))
	}
	return b, nil
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (r Ruleset) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

func validPath(path string) bool {
	return strings.HasPrefix(path, "/") && len(path) <= maxPathLength && strings.IndexByte(path, 0) < 0
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
