package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sandboxd/audit"
	"sandboxd/ipc"
)

// tracer turns records into spans of OpenTelemetry: one trace for each call, in it
// the decision and, below that, the run. A span is a line, a TracesData object
// as the file exporter writes them (opentelemetry.io, "OpenTelemetry Protocol File
// Exporter"; the ids are hexadecimal, 64-bit numbers are strings).
type tracer struct {
	host    string
	decided map[string]string // span of the decision, by execution that has not ended
}

func newTracer() *tracer {
	host, _ := os.Hostname() // empty: left out
	return &tracer{host: host, decided: map[string]string{}}
}

type (
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"` // 2: error
		Message string `json:"message,omitempty"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"` // 1: internal
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
		Status     otlpStatus      `json:"status"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	otlpScopeSpans struct {
		Scope otlpScope  `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpTraces struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
)

// line is the span of one record; nil: the record is no step of a call, or only its
// beginning.
func (t *tracer) line(raw json.RawMessage) ([]byte, error) {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	s := otlpSpan{Kind: 1}
	switch {
	case r.ExecID == "":
		return nil, nil
	case r.Category == audit.Decision:
		s.Name = "decide"
	case r.Category == audit.Execution && (r.Operation == "end" || r.Operation == "refuse"):
		s.Name = "run"
	case r.Category == audit.File && r.Operation != "start":
		s.Name = "file"
	default:
		return nil, nil
	}
	trace := sha256.Sum256([]byte(r.ExecID))
	span := sha256.Sum256([]byte(r.ExecID + " " + strconv.FormatUint(r.Seq, 10)))
	s.TraceID, s.SpanID = hex.EncodeToString(trace[:16]), hex.EncodeToString(span[:8])
	switch {
	case s.Name == "decide" && r.Decision == "approved":
		t.decided[r.ExecID] = s.SpanID
	case s.Name != "decide":
		s.Parent = t.decided[r.ExecID]
		delete(t.decided, r.ExecID)
	}
	s.Start, s.End = nano(r.Time.Add(-time.Duration(r.DurationMS)*time.Millisecond)), nano(r.Time)
	s.Attributes, s.Status = r.attributes(), r.status()
	return json.Marshal(otlpTraces{[]otlpResourceSpans{{
		Resource: otlpResource{attributesOf("service.name", "sandboxd", "service.version", ipc.Release, "host.name",
			t.host)},
		ScopeSpans: []otlpScopeSpans{{Scope: otlpScope{"sandboxd", ipc.Release}, Spans: []otlpSpan{s}}},
	}}})
}

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// attributes are the fields for searching traces; the record itself has everything.
func (r record) attributes() []otlpAttribute {
	command := r.Subject
	if command == "" {
		command = strings.Join(r.Argv, " ")
	}
	list := attributesOf("sandboxd.exec_id", r.ExecID, "sandboxd.subject", command, "sandboxd.tool", r.Tool, "session.id",
		r.Session,
		"gen_ai.agent.name", r.Agent, "sandboxd.decision", r.Decision, "sandboxd.how", r.How, "sandboxd.by", r.By,
		"sandboxd.reason", r.Reason, "sandboxd.rule", r.Rule, "sandboxd.risk", r.Risk, "sandboxd.operation", r.Operation,
		"sandboxd.enforcement", r.Enforcement, "process.working_directory", r.Cwd, "process.exit.signal", r.Signal,
		"sandboxd.limits", strings.Join(r.Limits, " "))
	number := func(key string, n int64) {
		text := strconv.FormatInt(n, 10)
		list = append(list, otlpAttribute{key, otlpValue{Int: &text}})
	}
	number("sandboxd.seq", int64(r.Seq))
	if r.Peer != nil {
		number("sandboxd.peer.uid", int64(r.Peer.UID))
		number("sandboxd.peer.pid", int64(r.Peer.PID))
	}
	if r.Exit != nil {
		number("process.exit.code", int64(*r.Exit))
	}
	return list
}

// status is an error for a call that was not permitted, did not run, or failed.
func (r record) status() otlpStatus {
	switch {
	case r.Error != "":
		return otlpStatus{2, r.Error}
	case r.Category == audit.Decision && r.Decision != "approved":
		return otlpStatus{2, strings.TrimSpace(r.Decision + " " + r.Reason)}
	case r.Exit != nil && *r.Exit != 0:
		return otlpStatus{2, "exit status " + strconv.Itoa(*r.Exit)}
	}
	return otlpStatus{}
}

// attributesOf takes keys and values; empty values are left out.
func attributesOf(pairs ...string) []otlpAttribute {
	var list []otlpAttribute
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, otlpAttribute{pairs[i], otlpValue{String: &pairs[i+1]}})
		}
	}
	return list
}
