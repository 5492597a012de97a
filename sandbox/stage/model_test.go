package stage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	pathpkg "path"
	"slices"
	"strings"

	"sandboxd/landlock/landlocktest"
)

// model decodes an order as cmd/sandboxd-launch must, and renders every field, or
// "refused". It is written from order.h, not from order.c.
func model(data []byte) string {
	d := reader{rest: data}
	if string(d.take(8)) != magic || d.u32() != Version || int(d.u32()) != len(data) || len(data) > maxOrder {
		return "refused"
	}
	flags, descriptors, umask := d.u32(), d.u32(), d.u32()
	limits, instructions, listen, dialers := d.u32(), d.u32(), d.u32(), d.u32()
	layers, argc, envc, operations := d.u32(), d.u32(), d.u32(), d.u32()
	var b strings.Builder
	fmt.Fprintf(&b, "flags %d descriptors %d umask %o dialers %d\n", flags, descriptors, umask, dialers)
	if limits > 16 || instructions > 4096 || layers > 16 || uint64(listen)+uint64(dialers) > MaxSockets ||
		argc > uint32(len(data)) || envc > uint32(len(data)) {
		return "refused"
	}
	limited := map[uint32]bool{}
	for range limits {
		resource, zero, value := d.u32(), d.u32(), d.u64()
		d.bad = d.bad || resource > 15 || zero != 0 || limited[resource]
		limited[resource] = true
		fmt.Fprintf(&b, "limit %d %d\n", resource, value)
	}
	fmt.Fprintf(&b, "filter %x\n", d.take(8*int(instructions)))
	for range listen {
		port := d.u16()
		d.bad = d.bad || port == 0
		fmt.Fprintf(&b, "port %d\n", port)
	}
	for range layers {
		d.layer(&b)
	}
	if operations > 4096 {
		return "refused"
	}
	var kinds []OperationKind
	for range operations {
		kinds = append(kinds, d.operation(&b))
	}
	d.bad = d.bad || operations > 0 && slices.Index(kinds, OpUser) != len(kinds)-1
	networks := len(slices.DeleteFunc(kinds, func(k OperationKind) bool { return k != OpNetwork }))
	d.bad = d.bad || networks > 1 || descriptors&uint32(CarriesNetwork) != 0 && networks == 0
	path, dir := d.text(), d.text()
	fmt.Fprintf(&b, "path %x\ndir %x\n", path, dir)
	d.texts(&b, "argument", argc)
	d.texts(&b, "variable", envc)
	late := []uint32{
		umask,
		limits,
		listen,
		dialers,
		argc,
		envc,
		descriptors &^ uint32(CarriesNetwork),
		flags & (flagTerminal | flagHold | flagProbe),
		uint32(len(path)),
		uint32(len(dir)),
	}
	known := uint32(flagTells | flagTerminal | flagAwait | flagEarly | flagHold | flagProbe)
	enforced := layers+instructions > 0
	switch {
	case d.bad, len(d.rest) > 0, flags&^known != 0, umask > 0o777, flags&flagTells != 0 && instructions == 0:
		return "refused"
	case flags&flagAwait != 0:
		if slices.ContainsFunc(late, func(n uint32) bool { return n != 0 }) || enforced && flags&flagEarly == 0 {
			return "refused"
		}
	case argc == 0, operations > 0, descriptors&uint32(CarriesNetwork) != 0,
		!strings.HasPrefix(dir, "/"), path != "" && path[0] != '/',
		enforced && flags&flagEarly != 0:
		return "refused"
	}
	return b.String()
}

// reader reads from rest; after a fault bad is set and every read is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (d *reader) take(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad, d.rest = true, nil
		return nil
	}
	head := d.rest[:n]
	d.rest = d.rest[n:]
	return head
}

func (d *reader) number(n int) uint64 {
	var b [8]byte
	copy(b[:], d.take(n))
	return binary.LittleEndian.Uint64(b[:])
}

func (d *reader) u16() uint16 { return uint16(d.number(2)) }
func (d *reader) u32() uint32 { return uint32(d.number(4)) }
func (d *reader) u64() uint64 { return d.number(8) }

func (d *reader) text() string {
	s := string(d.take(int(d.u32())))
	end := d.take(1)
	d.bad = d.bad || end[0] != 0 || strings.Contains(s, "\x00")
	return s
}

func (d *reader) texts(b *strings.Builder, name string, n uint32) {
	for ; n > 0 && !d.bad; n-- {
		fmt.Fprintf(b, "%s %x\n", name, d.text())
	}
}

func (d *reader) operation(b *strings.Builder) OperationKind {
	kind, flags, zero, mode, size := d.number(1), d.number(1), d.u16(), d.u32(), d.u64()
	path := d.text()
	text := d.take(int(d.u32()))
	end := d.take(1)
	d.bad = d.bad || zero != 0 || kind > uint64(OpUser) || flags > 7 || mode > 0o777 || len(path) > 4095 ||
		!strings.HasPrefix(path, "/") || pathpkg.Clean(path) != path || end[0] != 0 ||
		OperationKind(kind) == OpLink && bytes.IndexByte(text, 0) >= 0 ||
		OperationKind(kind) == OpBind && len(text) > 0 && !cleanPath(string(text)) ||
		OperationKind(kind) == OpOverlay && !overlaid(string(text), flags&OpReadOnly != 0)
	fmt.Fprintf(b, "operation %d %d %o %d path %x\ntext %x\n", kind, flags, mode, size, path, text)
	return OperationKind(kind)
}

func overlaid(text string, readOnly bool) bool {
	paths, least := strings.Split(text, "\x00"), 3
	if readOnly {
		least = 2
	}
	return len(paths) >= least && len(paths) <= MaxOverlay &&
		!slices.ContainsFunc(paths, func(p string) bool { return !cleanPath(p) })
}

func cleanPath(path string) bool {
	return strings.HasPrefix(path, "/") && pathpkg.Clean(path) == path && !strings.Contains(path, "\x00")
}

func (d *reader) layer(b *strings.Builder) {
	r, err := landlocktest.Decode(d.take(int(d.u32())))
	if err != nil {
		d.bad = true
		return
	}
	fmt.Fprintf(b, "layer %d %d %d %d\n", r.HandledFS, r.HandledNet, r.Scoped, r.Flags)
	for _, p := range r.Paths {
		optional := 0
		if p.Optional {
			optional = 1
		}
		fmt.Fprintf(b, "%d %d path %x\n", p.Access, optional, p.Path)
	}
	for _, p := range r.Ports {
		fmt.Fprintf(b, "port %d %d\n", p.Port, p.Access)
	}
}
