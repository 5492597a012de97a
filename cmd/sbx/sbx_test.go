package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/audit"
	"sandboxd/cmd/sbx/internal/arguments"
	"sandboxd/display/displaytest"
	"sandboxd/ipc"
)

func TestStatusOf(t *testing.T) { // DESIGN §9: exit status
	for name, c := range map[string]struct {
		end     ipc.Exit
		by      int
		status  int
		outcome string
	}{
		"its own":              {ipc.Exit{Code: 3}, 0, 3, "exited"},
		"its own 126":          {ipc.Exit{Code: 126}, 0, 126, "exited"},
		"a signal":             {ipc.Exit{Code: -1, Signal: "SIGKILL", SignalNum: 9}, 0, 137, "signalled"},
		"took too long":        {ipc.Exit{Code: -1, TimedOut: true, SignalNum: 9}, 0, 124, "timed_out"},
		"denied":               {ipc.Exit{Code: 126, Denied: &ipc.Denial{}}, 0, 126, "denied"},
		"not found":            {ipc.Exit{Code: 127, Error: &ipc.Error{Code: ipc.CodeNotFound}}, 0, 127, "not_found"},
		"not executable":       {ipc.Exit{Code: 126, Error: &ipc.Error{Code: ipc.CodeForbidden}}, 0, 126, "denied"},
		"ours":                 {ipc.Exit{Code: 125, Error: &ipc.Error{Code: ipc.CodeAudit}}, 0, 125, "failed"},
		"Ctrl-C, twice":        {ipc.Exit{Code: -1, Cancelled: true, SignalNum: 9}, 2, 130, "cancelled"},
		"Ctrl-C before it ran": {ipc.Exit{Code: 125, Error: &ipc.Error{Code: ipc.CodeInternal}}, 2, 130, "cancelled"},
		"cancelled elsewhere":  {ipc.Exit{Code: -1, Cancelled: true}, 0, 125, "cancelled"},
		"it answered Ctrl-C":   {ipc.Exit{Code: 7}, 2, 7, "exited"},
	} {
		status, outcome := statusOf(&c.end, c.by)
		if status != c.status || outcome != c.outcome {
			t.Errorf("%s: statusOf = %d, %q, want %d, %q", name, status, outcome, c.status, c.outcome)
		}
	}
}

func TestStatusOfError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), 125},
		{&ipc.Error{Code: ipc.CodeOverloaded}, 125},
		{fmt.Errorf("x: %w", &ipc.Error{Code: ipc.CodeStopped}), 126},
		{&ipc.Error{Code: ipc.CodeSelfApproval}, 126},
		{quietly(7), 7},
		{quietly(0), 0},
	} {
		if c.err == nil {
			continue
		}
		if got := statusOfError(c.err); got != c.want {
			t.Errorf("statusOfError(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, ms := range map[string]int64{"90s": 90_000, "5m": 300_000, "30": 30_000, "0.5": 500, "1us": 1} {
		var s seconds
		if err := s.Set(text); err != nil || s.ms() != ms {
			t.Errorf("%q: %v, %d ms, want %d", text, err, s.ms(), ms)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "5 m", "-3s", "NaN", "Inf", "1e300"} {
		var s seconds
		if err := s.Set(text); err == nil {
			t.Errorf("%q is taken for %v", text, s.String())
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SET_HERE", "v=1")
	env, err := arguments.Environment([]string{"A=b=c", "EMPTY=", "SET_HERE", "NOT_SET_ANYWHERE"})
	if err != nil || len(env) != 3 || env["A"] != "b=c" || env["SET_HERE"] != "v=1" {
		t.Errorf("environment = %q, %v", env, err)
	}
	for _, bad := range []string{"=x", "A=\x00"} {
		if _, err := arguments.Environment([]string{bad}); err == nil {
			t.Errorf("environment(%q) is taken", bad)
		}
	}
}

func TestMoment(t *testing.T) {
	now := time.Date(2026, 5, 4, 15, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"2h": "2026-05-04T13:00:00+01:00", "2026-05-01": "2026-05-01T00:00:00+01:00",
		"2026-05-01 10:30": "2026-05-01T10:30:00+01:00", "09:15": "2026-05-04T09:15:00+01:00",
		"23:30": "2026-05-03T23:30:00+01:00", "2026-05-01T10:00:00Z": "2026-05-01T10:00:00Z",
	} {
		if got, err := moment(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("moment(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"gestern", "-2h", "2026-13-01"} {
		if _, err := moment(bad, now); err == nil {
			t.Errorf("moment(%q) is taken", bad)
		}
	}
}

// What --json prints is ASCII and means the same.
func TestASCIIJSON(t *testing.T) {
	for _, c := range displaytest.Hostile {
		line, err := asciiJSON(map[string]string{"s": c.In})
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.IndexFunc(line, func(r rune) bool { return r < 0x20 || r > 0x7e }); i >= 0 {
			t.Errorf("asciiJSON(%q) = %s: byte %d", c.In, line, i)
		}
		var back map[string]string
		if err := json.Unmarshal(line, &back); err != nil || back["s"] != strings.ToValidUTF8(c.In, "\ufffd") &&
			!strings.Contains(back["s"], "\ufffd") {
			t.Errorf("asciiJSON(%q) reads back as %q, %v", c.In, back["s"], err)
		}
	}
}

// R-UX-05 in lists: whatever is in a cell or a record, a row stays a row.
func TestListsAreNeutralised(t *testing.T) {
	for _, c := range displaytest.Hostile {
		var out bytes.Buffer
		table(&out, [][]string{{"ID", c.In, "x"}, {c.In, "y", "z"}})
		r := record{Seq: 1, Record: audit.Record{Category: audit.Decision, Decision: "denied", Subject: c.In, Note: c.In,
			By: c.In, How: "person", Tool: c.In, Time: time.Now()}}
		fmt.Fprintln(&out, r.line(time.Now()))
		if n := strings.Count(out.String(), "\n"); n != 3 || strings.ContainsAny(out.String(), "\x1b\r\t\x00\u202e\u200b") {
			t.Errorf("%s: %d rows, want 3:\n%q", c.Name, n, out.String())
		}
	}
}

func TestErrorsAreNeutralised(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out}
	status := a.status(fmt.Errorf("start: %w", &ipc.Error{Code: ipc.CodeDenied, Message: "no\x1b[2J\nsecond\r",
		Hint: "do\x1b this"}))
	want := "sbx: start: no\\x1b[2J\nsecond\\r\nsbx: next: do\\x1b this\n"
	if out.String() != want || status != 126 {
		t.Errorf("status %d and\n%q, want 126 and\n%q", status, out.String(), want)
	}
}

func TestRecordLine(t *testing.T) {
	at := time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)
	code := 2
	for _, c := range []struct {
		r    audit.Record
		want string
	}{
		{audit.Record{Category: audit.Decision, Decision: "approved", Subject: "ls", Reason: "no_check",
			Rule: "safe list: ls", Scope: "once"}, "15:00:00     #7  approved       ls  (no_check; rule safe list: ls)"},
		{audit.Record{Category: audit.Decision, Decision: "denied", Argv: []string{"rm", "a b"}, How: "person", By: "uid 0",
			Note: "no"}, "15:00:00     #7  denied         rm 'a b'  (by uid 0; note: no)"},
		{audit.Record{Category: audit.Execution, Operation: "end", Subject: "ls", Exit: &code, DurationMS: 1500},
			"15:00:00     #7  exit 2         ls  (1.5s)"},
		{audit.Record{Category: audit.Execution, Operation: "end", Subject: "ls", Exit: &code, TimedOut: true},
			"15:00:00     #7  timed out      ls"},
		{audit.Record{Category: audit.Session, Operation: "open", Session: "s-1"}, "15:00:00     #7  session open   s-1"},
		{audit.Record{Category: audit.Decision, Decision: "denied", Tool: "write_file", Subject: "a.go"},
			"15:00:00     #7  denied         write_file: a.go"},
	} {
		c.r.Time = at
		if got := (record{7, c.r}).line(at); got != c.want {
			t.Errorf("line = %q\nwant   %q", got, c.want)
		}
	}
	old := record{7, audit.Record{Time: at, Category: audit.Config, Operation: "start"}}
	if got := old.line(at.AddDate(0, 0, 1)); !strings.HasPrefix(got, "2026-05-04 15:00:00") {
		t.Errorf("an old record is shown as %q", got)
	}
}

// Every verb has help with an example (issue 8), and no flag shadows another.
func TestEveryVerbHasAnExample(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Example == "" || c.Short == "" {
			t.Errorf("%s has no example or no description", c.CommandPath())
		}
		if strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the description ends with a full stop", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(newRoot(&app{stdin: os.Stdin}, nil))
}

// R-UX-07: for every verb there is a script in which it succeeds, one for each
// end that its help names, and one with --json where it has that. Where sbx itself
// fails, a script names the end: its number alone could be anything.
func TestEveryVerbHasScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	has := func(format string, args ...any) bool {
		return regexp.MustCompile(fmt.Sprintf("(?m)"+format, args...)).MatchString(text.String())
	}
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" {
			return
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if endsOf[path] == "" {
			if c.Runnable() && (!c.HasSubCommands() || path == "log" || path == "web") {
				t.Errorf("ends.go: no ends for sbx %s", path)
			}
			return
		}
		known[path] = true
		// Global flags may stand between sbx and the verb.
		call := `.*\bsbx (--[a-z-]+ \S+ )*` + regexp.QuoteMeta(path) + `\b`
		if !has(`^(exec|approver 0|person 0|status 0) %s`, call) {
			t.Errorf("no script in which sbx %s succeeds", path)
		}
		if c.Flags().Lookup("json") != nil && !has(`^[^#].*%s.* --json\b`, call) {
			t.Errorf("no script with sbx %s --json", path)
		}
		for _, name := range strings.Split(endsOf[path], "|") {
			name, _, _ = strings.Cut(name, "=")
			if _, ok := ends[name]; !ok {
				t.Errorf("sbx %s: there is no end %q", path, name)
			}
			how := name
			if name == "own" {
				how = "[1-9]"
			}
			if !has(`^(status|approver|person) %s %s`, how, call) {
				t.Errorf("no script in which sbx %s ends with %s", path, name)
			}
		}
		ran := regexp.MustCompile(`(?m)^(?:status|approver) ([a-z]+) sbx (?:--[a-z-]+ \S+ )*` + regexp.QuoteMeta(path) +
			`\b(.*)`)
		for _, m := range ran.FindAllStringSubmatch(text.String(), -1) {
			sub := c.HasSubCommands() && slices.ContainsFunc(c.Commands(),
				func(s *cobra.Command) bool { return strings.HasPrefix(m[2], " "+s.Name()) })
			if !sub && !regexp.MustCompile(`(^|\|)`+m[1]+`(\||=|$)`).MatchString(endsOf[path]) {
				t.Errorf("the help of sbx %s does not name the end of %q", path, m[0])
			}
		}
	}
	walk(newRoot(&app{stdin: os.Stdin}, nil))
	for path := range endsOf {
		if !known[path] {
			t.Errorf("ends.go: ends for sbx %s, which is no verb", path)
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^(status|approver|person) 12[4567] .*`).FindAllString(text.String(), -1) {
		t.Errorf("name the end: %s", line)
	}
}

// sbx doctor ends with 1 where something that was tried does not hold, or there
// is no sandbox; a layer that a host lacks is no failure by itself.
func TestSound(t *testing.T) {
	finding := func(name string, ok bool) ipc.Doctor {
		return ipc.Doctor{Enforcement: ipc.Enforcement{Level: ipc.Partial},
			Findings: []ipc.Finding{{Name: "files", OK: true}, {Name: name, OK: ok}}}
	}
	for name, c := range map[string]struct {
		d    ipc.Doctor
		want bool
	}{
		"all holds":  {finding("network", true), true},
		"no network": {finding("network", false), false},
		"no layer":   {finding("layer landlock", false), true},
		"no sandbox": {ipc.Doctor{Enforcement: ipc.Enforcement{Level: ipc.Absent}}, false},
	} {
		if got := sound(c.d); got != c.want {
			t.Errorf("%s: sound = %v, want %v", name, got, c.want)
		}
	}
}

// A host that lacks only what is made up for otherwise was reported in capitals as PARTIAL.
func TestExtent(t *testing.T) {
	of := func(name string, l ipc.Level) ipc.Protection { return ipc.Protection{Name: name, Level: l} }
	limits, names := of("limits", ipc.Partial), of("protected", ipc.Partial)
	for want, list := range map[string][]ipc.Protection{
		"full":                                  {of("files", ipc.Enforced)},
		"full, but memory limits (best effort)": {of("files", ipc.Enforced), limits},
		"partial: network absent":               {of("network", ipc.Absent), limits},
		"partial: limits absent, files absent":  {of("limits", ipc.Absent), of("files", ipc.Absent)},
		"full, but memory limits and protected names (best effort)": {limits, names},
	} {
		if got := extent(ipc.Enforcement{Protections: list}); got != want {
			t.Errorf("extent = %q, want %q", got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		29*time.Second + 900*time.Millisecond: "30 s", 5*time.Minute - time.Second: "5 min",
		3 * time.Hour: "3 h", 72 * time.Hour: "3 days",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}

// Lost output takes no status away that a verb gave its end.
func TestWritten(t *testing.T) {
	full, closed := error(syscall.ENOSPC), error(syscall.EPIPE)
	for _, c := range []struct {
		err, lost error
		status    int
		said      string
	}{
		{nil, nil, 0, ""},
		{nil, full, exitOwn, "the output is not complete: no space left on device"},
		{nil, closed, exitPipe, ""},
		{full, full, exitOwn, "the output is not complete: no space left on device"},
		{&exit{2, full}, full, 2, "the output is not complete: no space left on device"},
		{&exit{2, closed}, closed, 2, ""},
		{quietly(3), full, 3, "the output is not complete: no space left on device"},
		{quietly(3), closed, 3, ""},
		{errors.New("else"), full, exitOwn, "else\nThe output is not complete: no space left on device"},
		{&ipc.Error{Code: ipc.CodeDenied, Message: "no"}, nil, exitDenied, "no"},
		{&ipc.Error{Code: ipc.CodeDenied, Message: "no"}, full, exitDenied, "no"},
	} {
		got := written(c.err, c.lost)
		status, said := 0, ""
		if got != nil {
			status, said = statusOfError(got), got.Error()
		}
		if status != c.status || !strings.HasPrefix(said, c.said) || c.said == "" && said != "" {
			t.Errorf("%v, %v: %d, %q; want %d, %q", c.err, c.lost, status, said, c.status, c.said)
		}
	}
}
