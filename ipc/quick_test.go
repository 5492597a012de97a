package ipc

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// What is read part by part means the same as what is read at once.
func TestReadEvent(t *testing.T) {
	keys := func(t reflect.Type) []string { return slices.Sorted(maps.Keys(fieldTypes(t))) }
	got, want := keys(reflect.TypeFor[eventLine]()), append(keys(reflect.TypeFor[Event]()), "error")
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("a line has %q, want %q", got, want)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, e := range []Event{
		{Seq: 1, Time: at, Type: EventQueued, Queued: &ExecStarted{ID: "x",
			Session: &Session{ID: "s", Warnings: []Warning{{Message: "m"}}}}},
		{Seq: 2, Time: at, Type: EventApproval, Approval: &Approval{ID: "q", Rev: 3}},
		{Seq: 3, Time: at, Type: EventApproval, Decision: &Decided{ID: "q", Allowed: true}},
		{Seq: 4, Time: at, Type: EventStarted, Started: &Started{Decision: DecisionAuto, Warm: true,
			Enforcement: Enforcement{Level: "enforced", Protections: []Protection{{Name: "files"}}}}},
		{Seq: 5, Time: at, Type: EventViolation, Violation: &Violation{Kind: "path"}},
		{Seq: 5, Time: at, Type: EventChanges, Change: &ChangeSet{ID: "h-1", State: "held"}},
		{Seq: 6, Time: at, Type: EventGap, Gap: &Gap{From: 1, To: 2, Bytes: 3}},
		{Seq: 7, Time: at, Type: "news to us", Data: []byte("data")},
		{Seq: 8, Time: at, Type: EventExit, Exit: &Exit{Code: 3, Denied: &Denial{Code: CodeDenied},
			Enforcement: Enforcement{Protections: []Protection{}}}},
	} {
		if got, err := readEvent(encode(e)); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%+v came back as %+v, %v", e, got, err)
		}
	}
	if _, err := readEvent([]byte(`{"error": {"code": "internal", "message": "m"}}`)); CodeOf(err) != CodeInternal {
		t.Errorf("an error is %v", err)
	}
	for _, bad := range []string{`{`, `{"exit": 3}`, `{"seq": "one"}`, `[]`} {
		if e, err := readEvent([]byte(bad)); err == nil {
			t.Errorf("%s is %+v", bad, e)
		}
	}
	if e, err := readEvent([]byte(`{"seq": 1, "exit": null, "queued": {"id": "x"}, "more": 1}`)); err != nil ||
		e.Exit != nil || e.Queued.ID != "x" {
		t.Errorf("null, and what is not known: %+v, %v", e, err)
	}
}

// An enforcement that was said before is the same, and nobody else's.
func TestSaidEnforcement(t *testing.T) {
	e := Enforcement{Level: Partial, Layers: []Layer{{Name: "a<b"}},
		Protections: []Protection{{Name: "files", Level: Enforced}, {Name: "limits", Level: Partial, Why: "w"}}}
	text := string(encode(e))
	for range 3 {
		var got Enforcement
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%+v, %v", got, err)
		}
		got.Protections[0].Level, got.Layers[0].Name = Absent, "changed"
		if again := string(encode(e)); again != text {
			t.Fatalf("%s is %s the second time", text, again)
		}
	}
	other := e.clone()
	other.Protections[0].Level = Absent
	if string(encode(other)) == text {
		t.Error("another enforcement is said like the last")
	}
	for _, e := range []Enforcement{{}, {Protections: []Protection{}}, {}} {
		var got Enforcement
		if err := json.Unmarshal(encode(e), &got); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%#v came back as %#v, %v", e, got, err)
		}
	}
}
