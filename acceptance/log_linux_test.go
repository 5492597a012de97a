package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// R-AU-01, R-OP-04: sbx searches the log by the fields of its records, and exports it
// unchanged or as traces, with and without a running daemon.
//
//   - Row 001-84 yes: approval history
func TestLogIsSearchedAndExported(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		config := filepath.Join(a.dir, "config.toml")
		if err := os.WriteFile(config, []byte("[shell]\n[[shell.rules]]\npattern = \"uname *\"\nallowed = false\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		a.start("--config", config)
		for command, want := range map[string]int{"cat README": 0, "uname -r": 126, "ls nothing-there": 2} {
			if got := a.sbx(append([]string{"run", "--"}, strings.Fields(command)...)...); got.code != want {
				t.Fatalf("%s: %v", command, got)
			}
		}
		a.searched(begin)
		a.traced()
		a.stop()
		a.searched(begin)
	})
}

// searched asks for records in every way that sbx log has.
func (a *actor) searched(begin time.Time) {
	t := a.t
	t.Helper()
	type line struct {
		Category, Operation, Decision, Agent, Session string
		ExecID                                        string `json:"exec_id"`
		Argv                                          []string
		Time                                          time.Time
	}
	read := func(text string) (list []line) {
		for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
			var one line
			if l == "" {
				continue
			}
			if err := json.Unmarshal([]byte(l), &one); err != nil {
				t.Fatalf("%v: %q", err, l)
			}
			list = append(list, one)
		}
		return list
	}
	all := read(a.sbx("log", "--json", "-n", "1000").out)
	denied := slices.IndexFunc(all, func(l line) bool { return l.Decision == "denied" || l.Decision == "blocked" })
	if denied < 0 {
		t.Fatalf("nothing denied in %+v", all)
	}
	one := all[denied]
	some := 0
	for _, c := range []struct {
		args []string
		want func(line) bool
	}{
		{[]string{"--decision", one.Decision}, func(l line) bool { return l.Decision == one.Decision }},
		{[]string{"--decision", "approved"}, func(l line) bool { return l.Decision == "approved" }},
		{[]string{"--category", "execution"}, func(l line) bool { return l.Category == "execution" }},
		{[]string{"--exec", one.ExecID}, func(l line) bool { return l.ExecID == one.ExecID }},
		{[]string{"--session", one.Session}, func(l line) bool { return l.Session == one.Session }},
		{[]string{"--agent", one.Agent}, func(l line) bool { return l.Agent == one.Agent }},
		{[]string{"--agent", "nobody"}, func(line) bool { return false }},
		{[]string{"--grep", `README$`}, func(l line) bool { return len(l.Argv) > 0 && l.Argv[len(l.Argv)-1] == "README" }},
		{[]string{"--since", "1h"}, func(line) bool { return true }},
		{[]string{"--since", begin.Add(time.Hour).Format(time.RFC3339)}, func(line) bool { return false }},
		{[]string{"--since", one.Time.Format(time.RFC3339Nano), "--category", "decision"},
			func(l line) bool { return l.Category == "decision" && !l.Time.Before(one.Time) }},
	} {
		var want []line
		for _, l := range all {
			if c.want(l) {
				want = append(want, l)
			}
		}
		some += len(want)
		same := func(x, y line) bool {
			return x.ExecID == y.ExecID && x.Operation == y.Operation && x.Time.Equal(y.Time)
		}
		for _, verb := range [][]string{{"log", "--json", "-n", "1000"}, {"log", "export"}} {
			args := append(slices.Clone(verb), c.args...)
			if verb[1] == "export" {
				args = append(args, "-")
			}
			if got := a.sbx(args...); got.code != 0 || !slices.EqualFunc(read(got.out), want, same) {
				t.Errorf("%q: want %+v, got %v", args, want, got)
			}
		}
	}
	if some < 20 {
		t.Errorf("the searches found %d records together: %+v", some, all)
	}
	// All of it, in a place of its own, is a log.
	to := filepath.Join(a.dir, "copy")
	defer os.RemoveAll(to)
	a.sh("mkdir " + to)
	file := filepath.Join(to, "00000001.jsonl")
	for _, want := range []int{0, 125} { // it overwrites nothing
		if got := a.sbx("log", "export", file); got.code != want {
			t.Errorf("export to a file: want exit %d: %v", want, got)
		}
	}
	if got := a.sbx("log", "verify", "--dir", to); got.code != 0 {
		t.Errorf("the export does not verify: %v", got)
	}
}

// traced looks at the traces of the three commands.
func (a *actor) traced() {
	t := a.t
	t.Helper()
	type span struct {
		TraceID, SpanID, ParentSpanID, Name string
		StartTimeUnixNano, EndTimeUnixNano  int64 `json:",string"`
		Status                              struct{ Code int }
	}
	traces := map[string][]span{}
	got := a.sbx("log", "export", "--traces", "-")
	for _, l := range strings.Split(strings.TrimSpace(got.out), "\n") {
		var one struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal([]byte(l), &one); err != nil {
			t.Fatalf("%v: %q", err, l)
		}
		s := one.ResourceSpans[0].ScopeSpans[0].Spans[0]
		if len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.StartTimeUnixNano > s.EndTimeUnixNano ||
			s.StartTimeUnixNano == 0 {
			t.Errorf("%+v", s)
		}
		traces[s.TraceID] = append(traces[s.TraceID], s)
	}
	how := map[string]int{}
	for _, spans := range traces {
		said := ""
		for i, s := range spans {
			said += s.Name + map[int]string{0: " ok ", 2: " error "}[s.Status.Code]
			if i > 0 && s.ParentSpanID != spans[0].SpanID {
				t.Errorf("not below the decision: %+v", spans)
			}
		}
		how[said]++
	}
	if len(traces) != 3 || how["decide ok run ok "] != 1 || how["decide ok run error "] != 1 || how["decide error "] != 1 {
		t.Errorf("%v: %v", how, got)
	}
}
