package notify

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sandboxd/approval"
)

func TestQuietHours(t *testing.T) {
	at := func(clock string) time.Time {
		c, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2026, 5, 4, c.Hour(), c.Minute(), 0, 0, time.UTC)
	}
	for _, c := range []struct{ hours, now, want string }{
		{"", "03:00", "2026-05-04 03:00"},
		{"22:00-07:00", "21:59", "2026-05-04 21:59"},
		{"22:00-07:00", "22:00", "2026-05-05 07:00"},
		{"22:00-07:00", "06:59", "2026-05-04 07:00"},
		{"22:00-07:00", "07:00", "2026-05-04 07:00"},
		{"12:00 - 13:30", "12:10", "2026-05-04 13:30"},
		{"12:00-12:00", "12:00", "2026-05-04 12:00"},
	} {
		q, err := parseQuiet(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.after(at(c.now)).Format("2006-01-02 15:04"); got != c.want {
			t.Errorf("%q at %s: got %s, want %s", c.hours, c.now, got, c.want)
		}
	}
	for _, bad := range []string{"22", "22:00", "25:00-07:00", "a-b", "22:00-07:00-08:00"} {
		if _, err := parseQuiet(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// R-UX-13: a question has one notice after the delay and one before its end. An answered one has none.
func TestSchedule(t *testing.T) {
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)
	question := func(id string, risk approval.Risk, wait time.Duration) approval.Pending {
		return approval.Pending{ID: id, Risk: risk, Asked: start, Deadline: start.Add(wait)}
	}
	var sent []string
	s := &schedule{cfg: Defaults(), waiting: map[string]*waiting{}}
	s.send = func(n Notice) { sent = append(sent, n.ID+" "+string(n.State)) }
	low, high := question("low", approval.RiskLow, 5*time.Minute), question("high", approval.RiskHigh, 5*time.Minute)
	short := question("short", approval.RiskLow, 8*time.Second)
	for _, step := range []struct {
		after   time.Duration
		pending []approval.Pending
		want    string
	}{
		{0, []approval.Pending{low, high, short}, ""},
		{3 * time.Second, []approval.Pending{low, high, short}, "high asked"},
		{4 * time.Second, []approval.Pending{low, high, short}, "short asked"},
		{7 * time.Second, []approval.Pending{low, high, short}, "short ending"},
		{8 * time.Second, []approval.Pending{low, high}, "short closed"},
		{9 * time.Second, []approval.Pending{high}, ""}, // low was answered before its notice
		{239 * time.Second, []approval.Pending{high}, ""},
		{240 * time.Second, []approval.Pending{high}, "high ending"},
		{250 * time.Second, []approval.Pending{high}, ""},
		{251 * time.Second, nil, "high closed"},
	} {
		sent = nil
		s.update(step.pending, start.Add(step.after))
		if got := strings.Join(sent, ", "); got != step.want {
			t.Errorf("after %s: got %q, want %q", step.after, got, step.want)
		}
	}
}

// R-UX-13: a notice contains no more than the configuration shares.
func TestShare(t *testing.T) {
	p := approval.Pending{ID: "01J", AgentShown: "claude", Tool: "bash", Risk: approval.RiskHigh,
		Cwd: "/home/ann/secret-place/shop", Description: "curl -H 'Authorization: Bearer abc123' \x1b[2J"}
	for share, c := range map[string]struct{ has, hasNot []string }{
		"none":    {[]string{"sbx approve 01J"}, []string{"claude", "bash", "shop", "curl"}},
		"summary": {[]string{"claude asks: bash, risk high, in shop"}, []string{"curl", "secret-place"}},
		"command": {[]string{"curl -H", `\x1b[2J`}, []string{"abc123", "\x1b"}},
	} {
		s := &schedule{cfg: Config{Share: share}}
		text := s.notice(p, Asked).Text
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got %q, want %q in it", share, text, want)
			}
		}
		for _, never := range c.hasNot {
			if strings.Contains(text, never) {
				t.Errorf("%s: got %q, want no %q in it", share, text, never)
			}
		}
	}
}

// Whatever a text contains, each form is one JSON value with the fields of its service, and mentions nobody.
func TestForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := sample
		n.Title, n.Text = rapid.String().Draw(t, "title"), rapid.String().Draw(t, "text")
		n.Link = rapid.SampledFrom([]string{"", "https://approve.example.org/?q=1"}).Draw(t, "link")
		for form, fields := range map[string][]string{
			"json":  {"id", "state", "risk", "title", "text", "deadline"},
			"ntfy":  {"topic", "title", "message", "priority"},
			"slack": {"text", "blocks"}, "teams": {"type", "attachments"}, "discord": {"content", "allowed_mentions"},
			"template": {"msg"},
		} {
			p, err := forms[form](Webhook{URL: "https://h.example.org/topic", Template: `{"msg": {{json .Text}}}`}, n)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(p.body, &got); err != nil {
				t.Fatalf("%s: %v: %s", form, err, p.body)
			}
			for _, f := range fields {
				if _, ok := got[f]; !ok {
					t.Errorf("%s: got %s, want %q in it", form, p.body, f)
				}
			}
			text, _ := got["content"].(string)
			if strings.Contains(strings.ReplaceAll(text, `\@`, ""), "@") {
				t.Errorf("discord: %q", text)
			}
		}
	})
}

// A request is repeated twice after 429 and 5xx; a redirect is a failure.
func TestRepetition(t *testing.T) {
	for status, want := range map[int]int32{200: 1, 204: 1, 302: 1, 400: 1, 404: 1, 429: 3, 500: 3, 503: 3} {
		var n atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		hook := &webhook{Webhook: Webhook{URL: server.URL, Form: "json"}, pause: time.Millisecond}
		err := hook.deliver(context.Background(), sample)
		server.Close()
		if (err == nil) != (status/100 == 2) || n.Load() != want {
			t.Errorf("status %d: got %d requests and %v, want %d", status, n.Load(), err, want)
		}
		if err != nil && strings.Contains(err.Error(), "/elsewhere") {
			t.Errorf("%v", err)
		}
	}
	dead := &webhook{Webhook: Webhook{URL: "http://127.0.0.1:1/token", Form: "json"}, pause: time.Millisecond}
	if err := dead.deliver(context.Background(), sample); err == nil || strings.Contains(err.Error(), "token") {
		t.Errorf("got %v, want an error without the address", err)
	}
}

func TestValidate(t *testing.T) {
	templated := func(text string) Webhook { return Webhook{URL: "https://h", Form: "template", Template: text} }
	for text, c := range map[string]Config{
		"share":            {Share: "all"},
		"osc99":            {Share: "none", Terminal: "osc1"},
		"absolute":         {Share: "none", Command: "notify-me"},
		"negative":         {Share: "none", Delay: -1},
		"quiet":            {Share: "none", Quiet: "night"},
		"notify.link":      {Share: "none", Link: "javascript:alert(1)"},
		"form":             {Share: "none", Webhooks: []Webhook{{URL: "https://h", Form: "fax"}}},
		"https://":         {Share: "none", Webhooks: []Webhook{{URL: "file:///etc/passwd", Form: "json"}}},
		"topic":            {Share: "none", Webhooks: []Webhook{{URL: "https://ntfy.example.org", Form: "ntfy"}}},
		"needs a template": {Share: "none", Webhooks: []Webhook{templated("")}},
		"make JSON":        {Share: "none", Webhooks: []Webhook{templated("{{.Text}}")}},
		"can't evaluate":   {Share: "none", Webhooks: []Webhook{templated("{{.Secret}}")}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error about %q", err, text)
		}
	}
	if err := Defaults().Validate(); err != nil {
		t.Error(err)
	}
}
