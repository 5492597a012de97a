package stage

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func fullOrder() Order {
	return Order{
		Argv: []string{"sh", "-c", "echo 'a b'\n"}, Path: "/bin/sh",
		Env: []string{"A=1", "B="}, Dir: "/work",
		Landlock: [][]byte{{1, 2}, {3}}, Seccomp: bytes.Repeat([]byte{7}, 80),
		Limits:   []Rlimit{{Resource: 7, Value: 4096}, {Resource: 4, Value: 1<<64 - 1}},
		Terminal: true, Doors: []uint16{3128, 1080}, Callers: 9, Umask: 0o77, Await: true, Early: true, Hold: true, Probe: true,
	}
}

func TestOrderRoundTrip(t *testing.T) {
	for _, want := range []Order{{}, fullOrder()} {
		b, err := want.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got Order
		if err := got.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	}
}

func TestOrderRefusesEveryPrefixAndExtension(t *testing.T) {
	o := fullOrder()
	b, _ := o.MarshalBinary()
	for i := range b {
		if err := new(Order).UnmarshalBinary(b[:i]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", i, len(b))
		}
	}
	if err := new(Order).UnmarshalBinary(append(b, 0)); err == nil {
		t.Error("a trailing byte was accepted")
	}
	b[len(magic)] = Version + 1
	if err := new(Order).UnmarshalBinary(b); err == nil {
		t.Error("another version was accepted")
	}
}

func FuzzOrder(f *testing.F) {
	o := fullOrder()
	b, _ := o.MarshalBinary()
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		var o Order
		if o.UnmarshalBinary(data) != nil {
			return
		}
		again, err := o.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var p Order
		if err := p.UnmarshalBinary(again); err != nil {
			t.Fatalf("what was accepted does not decode again: %v", err)
		}
		if d := cmp.Diff(o, p, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}

func TestEndRoundTrip(t *testing.T) {
	for _, want := range []End{{}, {Code: 143, Alone: true, CPU: 1 << 40}} {
		s, err := ParseStatus(want.status().encode())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.End(); err != nil || got != want {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
	for _, bad := range []Status{{Step: StepReady}, {Step: StepEnded}, {Step: StepEnded, Message: "none"}, {Step: StepEnded, Message: "none x"}} {
		if _, err := bad.End(); err == nil {
			t.Errorf("%+v is an end", bad)
		}
	}
}
