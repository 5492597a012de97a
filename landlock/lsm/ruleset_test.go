package lsm_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"sandboxd/landlock/landlocktest"
	"sandboxd/landlock/lsm"
)

var sample = lsm.Ruleset{
	HandledFS: 1<<16 - 1, HandledNet: 3, Scoped: 3, Flags: lsm.LogNewExecOn,
	Paths: []lsm.PathRule{{Path: "/", Access: lsm.ReadDir},
		{Path: "/usr", Access: lsm.ReadFile | lsm.Execute, Optional: true}},
	Ports: []lsm.PortRule{{Port: 0, Access: lsm.BindTCP}, {Port: 65535, Access: lsm.ConnectTCP}},
}

func TestBinaryRoundTrip(t *testing.T) {
	for _, want := range []lsm.Ruleset{{}, sample} {
		data, err := want.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		got, err := landlocktest.Decode(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		for n := range data {
			if _, err := landlocktest.Decode(data[:n]); err == nil {
				t.Errorf("cut after %d of %d bytes: accepted", n, len(data))
			}
		}
		if _, err := landlocktest.Decode(append(data, 0)); err == nil {
			t.Error("a byte too many: accepted")
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	for _, path := range []string{"", "relative", "/a\x00b", "/" + strings.Repeat("x", 4096)} {
		if _, err := (lsm.Ruleset{Paths: []lsm.PathRule{{Path: path}}}).MarshalBinary(); err == nil {
			t.Errorf("path %.20q: accepted", path)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []lsm.Ruleset{{}, sample} {
		data, err := seed.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := landlocktest.Decode(data)
		if err != nil {
			return
		}
		again, err := r.MarshalBinary()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%x decodes to %v, which encodes to %x (%v)", data, r, again, err)
		}
	})
}
