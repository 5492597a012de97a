package ipc

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"
)

// quickEvent reads an event of output as this package's server writes it,
// which encoding/json does several times slower. Whatever looks different is
// left to encoding/json; what is read here means the same there.
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
	kind, rest, ok := bytes.Cut(rest, []byte(`","data":"`))
	if !ok {
		return Event{}, false
	}
	data, ok := bytes.CutSuffix(bytes.TrimSuffix(rest, []byte("\n")), []byte(`"}`))
	if !ok || bytes.ContainsAny(data, "\r\n") { // base64 would skip them
		return Event{}, false
	}
	var e Event
	switch string(kind) {
	case string(EventStdout), string(EventStderr), string(EventPTY):
		e.Type = EventType(kind)
	default:
		return Event{}, false
	}
	seqno, err1 := strconv.ParseUint(string(seq), 10, 64)
	err2 := e.Time.UnmarshalText(at)
	e.Data = make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err3 := base64.StdEncoding.Decode(e.Data, data)
	e.Seq, e.Data = seqno, e.Data[:n]
	return e, err1 == nil && err2 == nil && err3 == nil
}
