package ipc

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// What is read part by part means the same as what is read at once.
func TestReadEvent(t *testing.T) {
	if got, want := fieldsOf(reflect.TypeFor[eventLine]()), append(fieldsOf(reflect.TypeFor[Event]()), "error"); !slices.Equal(got, want) {
		t.Errorf("a line has %q, want %q", got, want)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, e := range []Event{
		{Seq: 1, Time: at, Type: EventQueued, Queued: &ExecStarted{ID: "x", Session: &Session{ID: "s", Warnings: []Warning{{Message: "m"}}}}},
		{Seq: 2, Time: at, Type: EventApproval, Approval: &Approval{ID: "q", Rev: 3}},
		{Seq: 3, Time: at, Type: EventApproval, Decision: &Decided{ID: "q", Allowed: true}},
		{Seq: 4, Time: at, Type: EventStarted, Started: &Started{Decision: DecisionAuto, Warm: true, Enforcement: Enforcement{Level: "enforced", Protections: []Protection{{Name: "files"}}}}},
		{Seq: 5, Time: at, Type: EventViolation, Violation: &Violation{Kind: "path"}},
		{Seq: 6, Time: at, Type: EventGap, Gap: &Gap{From: 1, To: 2, Bytes: 3}},
		{Seq: 7, Time: at, Type: "news to us", Data: []byte("data")},
		{Seq: 8, Time: at, Type: EventExit, Exit: &Exit{Code: 3, Denied: &Denial{Code: CodeDenied}, Enforcement: Enforcement{Protections: []Protection{}}}},
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
	if e, err := readEvent([]byte(`{"seq": 1, "exit": null, "queued": {"id": "x"}, "more": 1}`)); err != nil || e.Exit != nil || e.Queued.ID != "x" {
		t.Errorf("null, and what is not known: %+v, %v", e, err)
	}
}
