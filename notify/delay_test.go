package notify

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// answered returns the times from a call to its decision, of questions that a person answers at once.
func answered(t *testing.T, c *approval.Controller) func() time.Duration {
	t.Helper()
	person := approval.Identity{Name: "person", Via: approval.ViaTerminal}
	t.Cleanup(c.Attach(person, approvaltest.Person(func(_ context.Context, p approval.Pending) (approval.Answer, error) {
		return p.Allow(person), nil
	})))
	return func() time.Duration {
		call := approval.Call{Session: "s", Tool: "bash",
			Request: approval.SimpleRequest("bash", map[string]any{"command": "make"})}
		start := time.Now()
		if d, err := c.Decide(t.Context(), call); err != nil || !d.Approved {
			t.Fatal(d, err)
		}
		return time.Since(start)
	}
}

// R-UX-13: dead, slow and failing receivers delay no question by a millisecond: of questions with and without them, by
// turns, the median times differ by less. The machine's own noise has five attempts.
func TestReceiversDelayNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer failing.Close()
	cfg := Config{Share: "command", Command: "/nonexistent/program"}
	for _, url := range []string{"http://" + silent.Addr().String(), failing.URL, "http://127.0.0.1:1"} {
		cfg.Webhooks = append(cfg.Webhooks, Webhook{URL: url, Form: "json"})
	}
	with, without := controller(t), controller(t)
	ctx, cancel := context.WithCancel(t.Context())
	n, ended := New(with, func() Config { return cfg }), make(chan struct{})
	go func() { defer close(ended); n.Run(ctx) }()
	defer func() { cancel(); <-ended }()

	asksWith, asksWithout := answered(t, with), answered(t, without)
	for end := time.Now().Add(time.Minute); len(n.Problems()) < 2; { // the receivers are there, and fail
		if time.Now().After(end) {
			t.Fatalf("the receivers do not fail: %q", n.Problems())
		}
		asksWith()
	}
	median := func(list []time.Duration) time.Duration {
		slices.Sort(list)
		return list[len(list)/2]
	}
	var longer time.Duration
	for range 5 {
		var a, b []time.Duration
		for range 101 {
			a, b = append(a, asksWith()), append(b, asksWithout())
		}
		if longer = median(a) - median(b); longer < time.Millisecond {
			t.Logf("with receivers a question takes %s longer", longer)
			return
		}
	}
	t.Errorf("with receivers a question takes %s longer", longer)
}

func controller(t *testing.T) *approval.Controller {
	t.Helper()
	c, err := approval.New(approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}
