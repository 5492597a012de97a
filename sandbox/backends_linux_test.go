package sandbox

import (
	"errors"
	"testing"
)

// R-OS-03: auto is the native back end where its probe succeeds, else bwrap; a named back end has no substitute.
func TestBackendsAreChosen(t *testing.T) {
	for _, c := range []struct {
		wanted        string
		native, bwrap bool // whether its probe succeeds
		want          string
	}{
		{"auto", true, true, BackendNative},
		{"", true, false, BackendNative},
		{"auto", false, true, BackendBwrap},
		{"auto", false, false, ""},
		{BackendNative, false, true, ""},
		{BackendNative, true, true, BackendNative},
		{BackendBwrap, true, true, BackendBwrap},
		{BackendBwrap, true, false, ""},
	} {
		h := &Host{wanted: c.wanted}
		list := h.backends()
		for i, b := range list {
			works := b.Name == BackendNative && c.native || b.Name == BackendBwrap && c.bwrap
			list[i].Active = b.err == nil && works
			list[i].failed = errors.New("the probe fails")
		}
		report := Report{Layers: h.choose(list)}
		got := report.Namespaces()
		if got.Active != (c.want != "") || got.Active && got.Name != c.want || h.native != (c.want == BackendNative) {
			t.Errorf("%+v: got %s (active: %v)", c, got.Name, got.Active)
		}
		for _, l := range report.Layers {
			if !l.Active && l.Why == "" {
				t.Errorf("%+v: %s is not active without a reason", c, l.Name)
			}
		}
	}
}
