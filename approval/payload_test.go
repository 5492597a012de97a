package approval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPayloadEquality is acceptance 3's table (R-AP-05).
func TestPayloadEquality(t *testing.T) {
	type m = map[string]any
	type l = []any
	for _, c := range []struct {
		name string
		a, b m
		want bool
	}{
		{"key order", m{"a": 1, "b": 2}, m{"b": 2, "a": 1}, true},
		{"1 and 1.0", m{"n": 1}, m{"n": 1.0}, true},
		{"1 and JSON 1.00", m{"n": 1}, m{"n": json.Number("1.00")}, true},
		{"100 and 1e2", m{"n": 100}, m{"n": json.Number("1e2")}, true},
		{"100 and 10E+1", m{"n": uint8(100)}, m{"n": json.Number("10E+1")}, true},
		{"0.1 and JSON 0.10", m{"n": 0.1}, m{"n": json.Number("0.10")}, true},
		{"0 and -0", m{"n": 0}, m{"n": math.Copysign(0, -1)}, true},
		{"0 and 0e7", m{"n": 0}, m{"n": json.Number("0e7")}, true},
		{"1 and -1", m{"n": 1}, m{"n": -1}, false},
		{"2^53 and 2^53+1", m{"n": int64(1) << 53}, m{"n": int64(1)<<53 + 1}, false},
		{"2^53+1 and the float next to it", m{"n": int64(1)<<53 + 1}, m{"n": float64(1 << 53)}, false},
		{"largest uint64", m{"n": uint64(math.MaxUint64)}, m{"n": json.Number("18446744073709551615")}, true},
		{"10 and 1", m{"n": 10}, m{"n": 1}, false},
		{"1.5 and 15", m{"n": 1.5}, m{"n": 15}, false},
		{"number and its text", m{"n": 1}, m{"n": "1"}, false},
		{"true and 1", m{"n": true}, m{"n": 1}, false},
		{"null and absent", m{"n": nil}, m{}, false},
		{"null and empty", m{"n": nil}, m{"n": ""}, false},
		{"nil and empty payload", nil, m{}, true},
		{"nil and empty list", m{"l": []string(nil)}, m{"l": l{}}, true},
		{"list and typed list", m{"l": []string{"x"}}, m{"l": l{"x"}}, true},
		{"list of numbers", m{"l": []int{1, 2}}, m{"l": l{1.0, 2.0}}, true},
		{"list order", m{"l": l{1, 2}}, m{"l": l{2, 1}}, false},
		{"list nesting", m{"l": l{l{1}, 2}}, m{"l": l{1, l{2}}}, false},
		{"list and map", m{"l": l{}}, m{"l": m{}}, false},
		{"nested maps", m{"m": m{"x": m{"y": l{1}}, "z": nil}}, m{"m": m{"z": nil, "x": m{"y": l{1.0}}}}, true},
		{"map and typed map", m{"m": map[string]string{"x": "y"}}, m{"m": m{"x": "y"}}, true},
		{"a text moved into its neighbour", m{"a": "x", "b": "yz"}, m{"a": "xy", "b": "z"}, false},
		{"key moved into value", m{"ab": "c"}, m{"a": "bc"}, false},
		{"upper case", m{"a": "X"}, m{"a": "x"}, false},
		{"NFC and NFD are distinct", m{"a": "caf\u00e9"}, m{"a": "cafe\u0301"}, false},
		{"compatibility forms are distinct", m{"a": "\ufb01"}, m{"a": "fi"}, false},
		{"invalid UTF-8 is compared byte for byte", m{"a": "\xff"}, m{"a": "\xfe"}, false},
		{"NUL", m{"a": "x\x00"}, m{"a": "x"}, false},
		{"named types", m{"a": Scope("once")}, m{"a": "once"}, true},
		{"what cannot be compared equals nothing", m{"a": struct{}{}}, m{"a": struct{}{}}, false},
		{"NaN equals nothing", m{"a": math.NaN()}, m{"a": math.NaN()}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := EqualPayload(c.a, c.b); got != c.want {
				t.Errorf("EqualPayload(%v, %v) = %t, want %t", c.a, c.b, got, c.want)
			}
			if got := EqualPayload(c.b, c.a); got != c.want {
				t.Errorf("EqualPayload(%v, %v) = %t, want %t", c.b, c.a, got, c.want)
			}
		})
	}
}

func TestFingerprintRefuses(t *testing.T) {
	var deep any = "x"
	for range 2 * maxDepth {
		deep = []any{deep}
	}
	for name, v := range map[string]any{
		"a function": func() {}, "a channel": make(chan int), "a struct": struct{ X int }{1}, "a pointer": new(int),
		"infinity": math.Inf(1), "depth": deep, "a bad number": json.Number("0x10"), "an empty number": json.Number(""),
		"a leading zero": json.Number("01"), "a bare point": json.Number("1."),
		"a huge exponent": json.Number("1e99999999999"), "a map with other keys": map[int]string{1: "x"},
	} {
		if _, err := Fingerprint(map[string]any{"v": v}); err == nil {
			t.Errorf("%s has a fingerprint", name)
		}
	}
	// A large exponent costs nothing.
	if _, err := Fingerprint(map[string]any{"v": json.Number("1e2000000000")}); err != nil {
		t.Error(err)
	}
}

// value draws a JSON-like value, in any of the Go types it may have.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		top := 7
		if depth == 0 {
			top = 5
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.SampledFrom([]string{"", "a", "b", "ab", "é", "e\u0301", "1", "null"}).Draw(t, "text")
		case 3:
			return rapid.IntRange(-3, 3).Draw(t, "int")
		case 4:
			return rapid.SampledFrom([]float64{-1, 0, 0.5, 1, 2, 1e21, 0.1}).Draw(t, "float")
		case 5:
			return json.Number(rapid.SampledFrom([]string{"1", "1.0", "-1", "0", "-0", "5e-1", "0.1", "1e21", "20e-1"}).Draw(t,
				"number"))
		case 6:
			return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")
		default:
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value(depth-1), 0, 3).Draw(t, "map")
		}
	})
}

func payloadOf(t *rapid.T, name string) map[string]any {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), value(2), 0, 2).Draw(t, name)
}

// respell writes a payload in another way that means the same.
func respell(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = respell(t, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = respell(t, x)
		}
		return out
	case int:
		if rapid.Bool().Draw(t, "float") {
			return float64(v)
		}
		return int64(v)
	}
	return v
}

// reference is equality by another road: through encoding/json and big
// enough floats (the generator draws no numbers that would need more).
func reference(a, b any) bool {
	return strings.Compare(spelled(a), spelled(b)) == 0
}

func spelled(v any) string {
	data, _ := json.Marshal(v)
	var x any
	_ = json.Unmarshal(data, &x)
	data, _ = json.Marshal(x)
	return strings.ReplaceAll(string(data), "-0", "0")
}

// TestEqualityIsAnEquivalence is acceptance 3's property: reflexive,
// symmetric, transitive, the same as the reference, and what session memory
// goes by (R-AP-05).
func TestEqualityIsAnEquivalence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := payloadOf(t, "a"), payloadOf(t, "b"), payloadOf(t, "c")
		if !EqualPayload(a, a) {
			t.Fatalf("%v is not equal to itself", a)
		}
		if EqualPayload(a, b) != EqualPayload(b, a) {
			t.Fatalf("%v and %v: not symmetric", a, b)
		}
		if EqualPayload(a, b) && EqualPayload(b, c) && !EqualPayload(a, c) {
			t.Fatalf("%v, %v, %v: not transitive", a, b, c)
		}
		if got, want := EqualPayload(a, b), reference(a, b); got != want {
			t.Fatalf("EqualPayload(%#v, %#v) = %t, want %t", a, b, got, want)
		}
		other := respell(t, a).(map[string]any)
		if !EqualPayload(a, other) {
			t.Fatalf("%#v and %#v are the same, written differently", a, other)
		}
		remembers(t, a, b)
		remembers(t, a, other)
	})
}

// remembers checks that session memory agrees with equality.
func remembers(t *rapid.T, granted, asked map[string]any) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	me := Identity{Via: ViaTerminal}
	ref := SessionRef{ID: "s"}
	c.OpenSession(ref)
	p, err := ExactPattern("tool", granted)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddGrant(me, Grant{Effect: Allow, Scope: ScopeSession, Match: p, Session: "s"}); err != nil {
		t.Fatal(err)
	}
	d, err := c.Preview(t.Context(), Call{Session: "s", Tool: "tool", Request: &Request{Tool: "tool", Payload: asked}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Approved != EqualPayload(granted, asked) {
		t.Fatalf("granted %#v, asked %#v: approved is %t", granted, asked, d.Approved)
	}
}
