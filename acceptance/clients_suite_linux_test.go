package acceptance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// suiteCase is one file of clients/conformance/: requests, and what must come back.
type suiteCase struct {
	Name    string `json:"name"`
	Project struct {
		Untrusted bool              `json:"untrusted"`
		Files     map[string]string `json:"files"`
	} `json:"project"`
	Steps []suiteStep `json:"steps"`
}

// suiteStep is one request.
type suiteStep struct {
	Op       string         `json:"op"`       // operationId of docs/openapi.yaml
	Approver bool           `json:"approver"` // by approver.sock
	Secret   string         `json:"secret"`   // of the session
	Params   map[string]any `json:"params"`
	// Background names a request whose answer a later step with Await wants.
	Background string `json:"background"`
	Await      string `json:"await"`
	// Retry repeats the request until it answers as wanted.
	Retry bool `json:"retry"`
	// Until is the type of the event after which a stream is left.
	Until string `json:"until"`

	Want   any               `json:"want"`   // the answer has at least this
	Error  map[string]any    `json:"error"`  // the refusal: code and status
	Events []any             `json:"events"` // these come in this order, others may between
	Stdout *string           `json:"stdout"` // all of the stream's, decoded
	Stderr *string           `json:"stderr"`
	PTY    *string           `json:"pty"`
	Keep   map[string]string `json:"keep"` // variable: path in the answer, such as approvals.0.id
	File   map[string]string `json:"file"` // afterwards: name in the project and content
}

// suiteRequest and suiteReply are the lines of clients/conformance/drivers.
type suiteRequest struct {
	ID     int            `json:"id"`
	Socket string         `json:"socket"`
	Secret string         `json:"secret,omitempty"`
	Op     string         `json:"op"`
	Params map[string]any `json:"params,omitempty"`
	Until  string         `json:"until,omitempty"`
}

type suiteReply struct {
	ID     int            `json:"id"`
	Answer any            `json:"answer,omitempty"`
	Events []any          `json:"events,omitempty"`
	Error  map[string]any `json:"error,omitempty"`
}

// suiteClient makes requests; it may be called concurrently.
type suiteClient interface {
	call(ctx context.Context, r suiteRequest) suiteReply
}

func readSuite(t *testing.T) []suiteCase {
	t.Helper()
	files, err := filepath.Glob("../clients/conformance/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cases []suiteCase
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.DisallowUnknownFields()
		var c suiteCase
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if c.Name == "" {
			c.Name = strings.TrimSuffix(filepath.Base(f), ".json")
		}
		cases = append(cases, c)
	}
	return cases
}

// suiteRun is one case under way.
type suiteRun struct {
	t          *testing.T
	client     suiteClient
	agent      string // sockets
	approver   string
	project    string
	vars       map[string]any
	background map[string]chan suiteReply
	recorded   []*recorder
}

// answered counts the bytes that came back so far.
func (r *suiteRun) answered() int {
	n := 0
	for _, one := range r.recorded {
		n += one.answered()
	}
	return n
}

func (r *suiteRun) step(s suiteStep) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		err := r.once(s)
		if err == nil || !s.Retry || time.Now().After(deadline) {
			return err
		}
	}
}

func (r *suiteRun) once(s suiteStep) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var reply suiteReply
	switch {
	case s.Await != "":
		select {
		case reply = <-r.background[s.Await]:
		case <-ctx.Done():
			return fmt.Errorf("%s did not come back", s.Await)
		}
	case s.Background != "":
		q, done := r.request(s), make(chan suiteReply, 1)
		r.background[s.Background] = done
		before := r.answered()
		go func() { done <- r.client.call(r.t.Context(), q) }()
		// What follows is for it to see: a stream begins with a comment.
		for deadline := time.Now().Add(patience); strings.HasSuffix(s.Op, "events") && r.answered() == before &&
			len(done) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				return errors.New("it does not begin")
			}
		}
		return nil
	default:
		reply = r.client.call(ctx, r.request(s))
	}
	return r.compare(s, reply)
}

func (r *suiteRun) request(s suiteStep) suiteRequest {
	q := suiteRequest{Socket: r.agent, Op: s.Op, Until: s.Until}
	if s.Approver {
		q.Socket = r.approver
	}
	if secret, ok := r.fill(s.Secret).(string); ok {
		q.Secret = secret
	}
	if s.Params != nil {
		q.Params = r.fill(map[string]any(s.Params)).(map[string]any)
	}
	return q
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// fill puts values in the place of ${names}; a string that is only one keeps
// the value's type.
func (r *suiteRun) fill(v any) any {
	switch v := v.(type) {
	case string:
		if m := variable.FindString(v); m != "" && m == v {
			value, ok := r.vars[v[2:len(v)-1]]
			if !ok {
				r.t.Fatalf("%s was not kept", v)
			}
			return value
		}
		return variable.ReplaceAllStringFunc(v, func(m string) string { return fmt.Sprint(r.vars[m[2:len(m)-1]]) })
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = r.fill(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = r.fill(x)
		}
		return out
	}
	return v
}

func (r *suiteRun) compare(s suiteStep, reply suiteReply) error {
	if s.Error != nil {
		if status, there := reply.Error["status"]; there && status == nil {
			delete(s.Error, "status") // a WebSocket's errors have none
		}
		return matches(r.fill(map[string]any(s.Error)), toAny(reply.Error), "error")
	}
	if reply.Error != nil {
		return fmt.Errorf("refused: %v", reply.Error)
	}
	answer := reply.Answer
	if reply.Events != nil {
		answer = reply.Events
	}
	if s.Want != nil {
		if err := matches(r.fill(s.Want), answer, "answer"); err != nil {
			return err
		}
	}
	if err := r.inOrder(s.Events, reply.Events); err != nil {
		return err
	}
	for kind, want := range map[string]*string{"stdout": s.Stdout, "stderr": s.Stderr, "pty": s.PTY} {
		if got := outputOf(reply.Events, kind); want != nil && got != r.fill(*want) {
			return fmt.Errorf("%s is %q, want %q", kind, got, *want)
		}
	}
	for name, path := range s.Keep {
		v, ok := lookup(answer, path)
		if !ok {
			return fmt.Errorf("the answer has no %s: %v", path, answer)
		}
		r.vars[name] = v
	}
	for name, want := range s.File {
		if got, err := os.ReadFile(filepath.Join(r.project, name)); err != nil || string(got) != want {
			return fmt.Errorf("%s holds %q (%v), want %q", name, got, err, want)
		}
	}
	return nil
}

// inOrder wants each of these among the events, in this order.
func (r *suiteRun) inOrder(want, got []any) error {
	i := 0
	for _, w := range want {
		w = r.fill(w)
		from, last := i, error(nil)
		for ; i < len(got); i++ {
			if last = matches(w, got[i], "event"); last == nil {
				break
			}
		}
		if i == len(got) {
			return fmt.Errorf("no event %v among %v (%v)", w, got[from:], last)
		}
		i++
	}
	return nil
}

func outputOf(events []any, kind string) string {
	var out strings.Builder
	for _, e := range events {
		m := e.(map[string]any)
		if m["type"] == kind {
			b, _ := base64.StdEncoding.DecodeString(fmt.Sprint(m["data"]))
			out.Write(b)
		}
	}
	return out.String()
}

// lookup finds a value by a path such as approvals.0.id.
func lookup(v any, path string) (any, bool) {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// matches compares: an object has at least the wanted fields, a list as many
// elements as wanted. An object with one key that begins with $ is a test:
// $match (regular expression), $type, $has (a list with such an element), $absent.
func matches(want, got any, where string) error {
	w, ok := want.(map[string]any)
	if !ok {
		if list, ok := want.([]any); ok {
			g, ok := got.([]any)
			if !ok || len(g) != len(list) {
				return fmt.Errorf("%s is %v, want %v", where, got, want)
			}
			for i := range list {
				if err := matches(list[i], g[i], fmt.Sprintf("%s.%d", where, i)); err != nil {
					return err
				}
			}
			return nil
		}
		if !reflect.DeepEqual(want, got) {
			return fmt.Errorf("%s is %v, want %v", where, got, want)
		}
		return nil
	}
	if len(w) == 1 {
		for k, v := range w {
			if done, err := special(k, v, got, where); done {
				return err
			}
		}
	}
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is %v, want %v", where, got, want)
	}
	for k, v := range w {
		if a, ok := v.(map[string]any); ok && a["$absent"] == true {
			if x, there := g[k]; there {
				return fmt.Errorf("%s.%s is %v, want none", where, k, x)
			}
			continue
		}
		if err := matches(v, g[k], where+"."+k); err != nil {
			return err
		}
	}
	return nil
}

func special(key string, v, got any, where string) (bool, error) {
	switch key {
	case "$match":
		s, ok := got.(string)
		if !ok || !regexp.MustCompile(v.(string)).MatchString(s) {
			return true, fmt.Errorf("%s is %v, want a match of %s", where, got, v)
		}
		return true, nil
	case "$type":
		kind := map[reflect.Kind]string{reflect.String: "string", reflect.Float64: "number", reflect.Bool: "boolean",
			reflect.Map: "object", reflect.Slice: "array"}[reflect.ValueOf(got).Kind()]
		if got == nil || kind != v {
			return true, fmt.Errorf("%s is %v, want a %s", where, got, v)
		}
		return true, nil
	case "$has":
		list, _ := got.([]any)
		for _, x := range list {
			if matches(v, x, where) == nil {
				return true, nil
			}
		}
		return true, fmt.Errorf("%s has no %v: %v", where, v, got)
	}
	return false, nil
}

func toAny(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
