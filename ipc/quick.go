package ipc

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// readEvent reads one line of a stream. One with an error is that error.
func readEvent(line []byte) (Event, error) {
	if e, ok := quickEvent(line); ok {
		return e, nil
	}
	var l eventLine
	if err := json.Unmarshal(line, &l); err != nil {
		return Event{}, fmt.Errorf("read events: %w", err)
	}
	if l.Error != nil {
		return Event{}, l.Error
	}
	e := Event{Seq: l.Seq, Time: l.Time, Type: l.Type, Data: l.Data}
	err := cmp.Or(readPart(l.Queued, &e.Queued), readPart(l.Approval, &e.Approval), readPart(l.Decision, &e.Decision),
		readPart(l.Started, &e.Started), readPart(l.Violation, &e.Violation), readPart(l.Change, &e.Change),
		readPart(l.Gap, &e.Gap), readPart(l.Exit, &e.Exit))
	if err != nil {
		return Event{}, fmt.Errorf("read events: %w", err)
	}
	return e, nil
}

// eventLine is an [Event] whose parts are read when they are there: before it
// reads the first value of a type, encoding/json works out how to read and to write
// everything that could be in it, which for a whole Event takes longer than a short
// command does.
type eventLine struct {
	Seq       uint64          `json:"seq"`
	Time      time.Time       `json:"time"`
	Type      EventType       `json:"type"`
	Data      []byte          `json:"data"`
	Queued    json.RawMessage `json:"queued"`
	Approval  json.RawMessage `json:"approval"`
	Decision  json.RawMessage `json:"decision"`
	Started   json.RawMessage `json:"started"`
	Violation json.RawMessage `json:"violation"`
	Change    json.RawMessage `json:"change"`
	Gap       json.RawMessage `json:"gap"`
	Exit      json.RawMessage `json:"exit"`
	Error     *Error          `json:"error"`
}

// readPart reads an optional part.
func readPart[T any](raw json.RawMessage, to **T) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, to)
}

// quickEvent reads an event with one part as this package's server writes it, which encoding/json
// does several times slower. Any other form is left to encoding/json; the accepted form has the
// same meaning there.
func quickEvent(line []byte) (Event, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return Event{}, false
	}
	seq, rest, ok := bytes.Cut(rest, []byte(`,"time":"`))
	if !ok || len(seq) == 0 || seq[0] == '0' || seq[0] == '+' {
		return Event{}, false
	}
	at, rest, ok := bytes.Cut(rest, []byte(`","type":"`))
	if !ok || len(at) > len(time.RFC3339Nano) {
		return Event{}, false
	}
	kind, rest, ok := bytes.Cut(rest, []byte(`","`))
	if !ok || !slices.Contains(quickTypes, EventType(kind)) {
		return Event{}, false
	}
	name, value, ok := bytes.Cut(rest, []byte(`":`))
	if !ok {
		return Event{}, false
	}
	if value, ok = bytes.CutSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("}")); !ok {
		return Event{}, false
	}
	e := Event{Type: EventType(kind)}
	number, err := strconv.ParseUint(string(seq), 10, 64)
	if e.Seq = number; err != nil || e.Time.UnmarshalText(at) != nil {
		return Event{}, false
	}
	// A part that is followed by another one, or by anything else, is no JSON value.
	switch string(name) {
	case "data":
		e.Data, err = quickData(value)
	case "queued":
		err = json.Unmarshal(value, &e.Queued)
	case "decision":
		err = json.Unmarshal(value, &e.Decision)
	case "started":
		err = json.Unmarshal(value, &e.Started)
	case "exit":
		err = json.Unmarshal(value, &e.Exit)
	default:
		return Event{}, false
	}
	return e, err == nil
}

var quickTypes = []EventType{EventQueued, EventApproval, EventStarted, EventStdout, EventStderr, EventPTY, EventExit}

// quickData reads output.
func quickData(value []byte) ([]byte, error) {
	data, begins := bytes.CutPrefix(value, []byte(`"`))
	data, ends := bytes.CutSuffix(data, []byte(`"`))
	if !begins || !ends || bytes.ContainsAny(data, "\r\n") { // base64 would skip them
		return nil, errors.New("not as the server writes it")
	}
	return base64.StdEncoding.AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(data))), data)
}
