package ipc

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// flushes is a response that notes what each flush sent, and when.
type flushes struct {
	*httptest.ResponseRecorder
	start time.Time
	sent  []string
}

func (f *flushes) Flush() {
	text := f.Body.String()
	f.Body.Reset()
	var types []string
	for _, t := range []EventType{EventQueued, EventStarted, EventStdout, EventExit} {
		if strings.Contains(text, `"`+string(t)+`"`) {
			types = append(types, string(t))
		}
	}
	f.sent = append(f.sent, time.Since(f.start).String()+" "+strings.Join(types, " "))
}

// timed is a stream of events that come some time after the one before.
type timed struct {
	after []time.Duration
	types []EventType
	due   time.Time
}

func (s *timed) Ready() bool  { return len(s.types) == 0 || !time.Now().Before(s.due) }
func (s *timed) Close() error { return nil }
func (s *timed) Next(context.Context) (Event, error) {
	if len(s.types) == 0 {
		return Event{}, io.EOF
	}
	time.Sleep(time.Until(s.due))
	e := Event{Type: s.types[0]}
	if s.after, s.types = s.after[1:], s.types[1:]; len(s.types) > 0 {
		s.due = s.due.Add(s.after[0])
	}
	return e, nil
}

// R-IP-02: what has to be acted upon goes out at once, with all before it; the rest a
// moment later, or with the end of the answer.
func TestEventsGoOutTogether(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		after []time.Duration
		types []EventType
		sent  []string
	}{
		"a short command": {[]time.Duration{0, ms, ms}, []EventType{EventQueued, EventStarted, EventExit}, nil},
		"a slow start": {[]time.Duration{0, 8 * ms, ms}, []EventType{EventQueued, EventStarted, EventExit},
			[]string{"5ms queued"}},
		"a command that works": {[]time.Duration{0, ms, 50 * ms}, []EventType{EventQueued, EventStarted, EventExit},
			[]string{"5ms queued started"}},
		"a command that says so": {[]time.Duration{0, ms, ms, ms},
			[]EventType{EventQueued, EventStarted, EventStdout, EventExit}, []string{"2ms queued started stdout"}},
		"one that continues": {[]time.Duration{0, ms, 20 * ms, 20 * ms},
			[]EventType{EventQueued, EventStarted, EventStdout, EventExit}, []string{"5ms queued started", "21ms stdout"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flushes{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
				x := &exchange{ResponseWriter: f, r: httptest.NewRequestWithContext(t.Context(), "POST", "/", nil),
					endpoint: &endpoint{limits: Limits{}.withDefaults()}}
				ndjson(x, &timed{after: c.after, types: c.types, due: time.Now()})
				time.Sleep(time.Second)
				if strings.Join(f.sent, ", ") != strings.Join(c.sent, ", ") {
					t.Errorf("sent %q, want %q", f.sent, c.sent)
				}
				if !strings.Contains(f.Body.String(), `"exit"`) {
					t.Errorf("the end is not left to the end of the answer: %q", f.Body)
				}
			})
		})
	}
}
