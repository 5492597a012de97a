package stage

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/landlock/lsm"
)

func fullOrder(t testing.TB) Order {
	t.Helper()
	set := lsm.Ruleset{HandledFS: 1<<16 - 1, HandledNet: 3, Scoped: 3, Flags: lsm.LogNewExecOn,
		Paths: []lsm.PathRule{{Path: "/", Access: lsm.ReadDir},
			{Path: "/usr", Access: lsm.ReadFile | lsm.Execute, Optional: true}},
		Ports: []lsm.PortRule{{Port: 0, Access: lsm.BindTCP}, {Port: 65535, Access: lsm.ConnectTCP}}}
	layer, err := set.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	empty, _ := lsm.Ruleset{}.MarshalBinary()
	return Order{
		Argv: []string{"sh", "-c", "echo 'a b'\n"}, Path: "/bin/sh",
		Env: []string{"A=1", "B="}, Dir: "/work",
		Landlock: [][]byte{layer, empty}, Seccomp: bytes.Repeat([]byte{7}, 80), Tells: true,
		Limits:   []Rlimit{{Resource: 7, Value: 4096}, {Resource: 4, Value: 1<<64 - 1}},
		Terminal: true, Listen: []uint16{3128, 1080}, Dialers: 9, Umask: 0o77, Hold: true, Probe: true,
	}
}

// orders are encoded orders of every kind that the daemon sends, and such as it must not.
func orders(t testing.TB) (good, bad [][]byte) {
	full := fullOrder(t)
	laying := Order{Await: true, Early: true, Landlock: full.Landlock, Seccomp: full.Seccomp, Tells: true}
	native := laying
	native.Operations = []Operation{{Kind: OpTmpfs, Mode: 0o755, Size: 1 << 20, Path: "/"},
		{Kind: OpBind, Flags: OpReadOnly | OpCreates, Path: "/usr"}, {Kind: OpLink, Path: "/bin", Text: "usr/bin"},
		{Kind: OpFile, Mode: 0o444, Path: "/a/b", Text: "x\x00y"}, {Kind: OpNetwork, Path: "/"},
		{Kind: OpOverlay, Path: "/p", Text: "/state/upper\x00/state/work\x00/p"},
		{Kind: OpOverlay, Path: "/a", Text: "/state/upper\x00/state/work\x00/state/lower\x00/a"},
		{Kind: OpOverlay, Flags: OpReadOnly, Path: "/r", Text: "/state/lower\x00/r"},
		{Kind: OpBind, Flags: OpInner, Path: "/p/q"},
		{Kind: OpBind, Path: "/tmp", Text: "/state/places/tmp"}, {Kind: OpUser, Path: "/"}}
	late := Order{Early: true, Argv: full.Argv, Dir: "/", Env: full.Env}
	for _, o := range []Order{full, laying, native, late, {Await: true}} {
		b, err := o.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, b)
	}
	joining, err := native.encode(CarriesNetwork)
	if err != nil {
		t.Fatal(err)
	}
	good = append(good, joining)
	// A network for nothing.
	for _, o := range []Order{laying, withOperation(laying, Operation{Path: "/", Kind: OpTmpfs})} {
		b, err := o.encode(CarriesNetwork)
		if err != nil {
			t.Fatal(err)
		}
		bad = append(bad, b)
	}
	for _, change := range oddities(laying, native) {
		o := fullOrder(t)
		change(&o)
		b, err := o.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		bad = append(bad, b)
	}
	return good, bad
}

// oddities make an order one that is refused.
func oddities(laying, native Order) []func(o *Order) {
	return []func(o *Order){
		func(o *Order) { *o = Order{} },
		func(o *Order) { o.Argv = nil },
		func(o *Order) { o.Dir = "work" },
		func(o *Order) { o.Path = "sh" },
		func(o *Order) { o.Await = true },
		func(o *Order) { o.Early = true },
		func(o *Order) { o.Seccomp = nil },
		func(o *Order) { o.Umask = 0o1000 },
		func(o *Order) { o.Listen[0] = 0 },
		func(o *Order) { o.Dialers = MaxSockets - 1 },
		func(o *Order) { o.Limits[0].Resource = 16 },
		func(o *Order) { o.Landlock[0] = o.Landlock[0][:len(o.Landlock[0])-1] },
		func(o *Order) { o.Landlock = slices.Repeat(o.Landlock, 9) },
		func(o *Order) { o.Seccomp = make([]byte, 8*4097) },
		func(o *Order) { *o = laying; o.Early = false },
		func(o *Order) { o.Operations = native.Operations },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "usr"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/usr/.."}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/usr//bin"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/usr/"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/", Kind: OpUser + 1}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/", Flags: 8}) },
		func(o *Order) { *o = withOverlay(laying, 0, "") },
		func(o *Order) { *o = withOverlay(laying, 0, "/u") },
		func(o *Order) { *o = withOverlay(laying, 0, "/u\x00w") },
		func(o *Order) { *o = withOverlay(laying, 0, "/u/..\x00/w") },
		func(o *Order) { *o = withOverlay(laying, 0, "/"+strings.Repeat("\x00/", MaxOverlay)) },
		func(o *Order) { *o = withOverlay(laying, OpReadOnly, "/l\x00") },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/", Kind: OpLink, Text: "a\x00"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/p", Kind: OpBind, Text: "t"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/p", Kind: OpBind, Text: "/t/../u"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/p", Kind: OpBind, Text: "/t\x00"}) },
		func(o *Order) { *o = withOperation(laying, Operation{Path: "/", Kind: OpUser}) },
		func(o *Order) { *o = laying; o.Operations = []Operation{{Path: "/", Kind: OpTmpfs}} },
		func(o *Order) { *o = native; o.Operations = append(slices.Clone(o.Operations), o.Operations[0]) },
		func(o *Order) {
			*o = native
			o.Operations = append([]Operation{{Path: "/", Kind: OpNetwork}}, o.Operations...)
		},
		func(o *Order) { o.Limits[1].Resource = o.Limits[0].Resource },
		func(o *Order) { *o = laying; o.Hold = true },
		func(o *Order) { *o = laying; o.Argv = []string{"x"} },
	}
}

// decoder is the program's own decoder under sanitizers, in a process of its own.
var decoder = sync.OnceValues(func() (*hosted, error) {
	dir, err := os.MkdirTemp("", "decode-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program, source := filepath.Join(dir, "decode"), "../../cmd/sandboxd-launch"
	for _, f := range []string{"testdata/decode.c", source + "/order.c", source + "/order.h"} {
		os.ReadFile(f) // go test keeps no result of another source
	}
	build := exec.Command("gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
		"-fno-sanitize-recover=all", "-I"+source, "-o", program, "testdata/decode.c", source+"/order.c")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	h := &hosted{}
	cmd := exec.Command(program)
	cmd.Env = []string{"ASAN_OPTIONS=detect_leaks=1"}
	cmd.Stderr = &h.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.in, h.out = in, out
	return h, cmd.Start()
})

type hosted struct {
	mu   sync.Mutex
	in   io.Writer
	out  io.Reader
	said bytes.Buffer
}

// decode returns every field of the order as the program sees it, or "refused".
func decode(t testing.TB, data []byte) string {
	t.Helper()
	h, err := decoder()
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	size := make([]byte, 4)
	binary.LittleEndian.PutUint32(size, uint32(len(data)))
	_, err = h.in.Write(append(size, data...))
	if err == nil {
		_, err = io.ReadFull(h.out, size)
	}
	text := make([]byte, binary.LittleEndian.Uint32(size))
	if err == nil {
		_, err = io.ReadFull(h.out, text)
	}
	if err != nil {
		time.Sleep(time.Second) // its last words
		t.Fatalf("the decoder ended: %v\n%s", err, h.said.String())
	}
	return string(text)
}

// The program decodes exactly what the daemon encodes, and refuses whole what is odd in
// any part: a byte too few or too many, another version, parts that contradict each other.
func TestOrderIsTakenWholeOrRefused(t *testing.T) {
	good, bad := orders(t)
	for i, b := range good {
		if got, want := decode(t, b), model(b); got != want || got == "refused" {
			t.Errorf("order %d: decoded as\n%s\nwant\n%s", i, got, want)
		}
		for n := range b {
			if decode(t, b[:n]) != "refused" {
				t.Errorf("order %d: the first %d of %d bytes were accepted", i, n, len(b))
			}
		}
		if decode(t, append(slices.Clone(b), 0)) != "refused" {
			t.Errorf("order %d: a trailing byte was accepted", i)
		}
		for at := range 64 { // each bit of the head
			for bit := range 8 {
				c := slices.Clone(b)
				c[at] ^= 1 << bit
				if got, want := decode(t, c), model(c); got != want {
					t.Errorf("order %d, byte %d, bit %d: decoded as\n%s\nwant\n%s", i, at, bit, got, want)
				}
			}
		}
	}
	for i, b := range bad {
		if got := decode(t, b); got != "refused" {
			t.Errorf("bad order %d was accepted:\n%s", i, got)
		}
	}
}

func TestOrderRefusesNUL(t *testing.T) {
	o := Order{Argv: []string{"a\x00b"}, Dir: "/"}
	if _, err := o.MarshalBinary(); err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("a NUL in an argument: %v", err)
	}
}

// FuzzOrder runs the program's own decoder under sanitizers beside the model.
func FuzzOrder(f *testing.F) {
	good, bad := orders(f)
	for _, b := range append(good, bad...) {
		f.Add(b)
	}
	if _, err := decoder(); err != nil { // an input that takes 10 s counts as one that hangs
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 16 { // so that a change of length is not all that is found
			binary.LittleEndian.PutUint32(data[12:], uint32(len(data)))
		}
		if got, want := decode(t, data), model(data); got != want {
			t.Errorf("%x is decoded as\n%s\nwant\n%s", data, got, want)
		}
	})
}

// withOverlay is an order with an overlay of this text.
func withOverlay(o Order, flags uint8, text string) Order {
	return withOperation(o, Operation{Path: "/p", Kind: OpOverlay, Flags: flags, Text: text})
}

// withOperation is an order with one operation before that of the user.
func withOperation(o Order, op Operation) Order {
	o.Operations = []Operation{op, {Path: "/", Kind: OpUser}}
	return o
}
