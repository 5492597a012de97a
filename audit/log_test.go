package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sandboxd/audit"
)

// open opens a log in dir until the test ends.
func open(t testing.TB, dir string, opts audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// fill appends n records with the subjects 1, 2, ….
func fill(t testing.TB, l *audit.Log, n int) {
	t.Helper()
	for i := range n {
		if err := l.Append(audit.Record{Category: audit.Decision, Tool: "bash", Subject: fmt.Sprint(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
}

func number(n int) *int { return &n }

// R-AU-01: what is recorded comes back.
func TestRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "log")
	l := open(t, dir, audit.Options{Exclude: []string{"content"}})
	want := audit.Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Category: audit.Execution, Operation: "end",
		Session: "s", Turn: 3, Agent: "a", Claimed: true, Peer: &audit.Peer{UID: 0, PID: 7, Exe: "/bin/x"},
		Tool: "bash", CallID: "c", ExecID: "e", Subject: "git status", Argv: []string{"git", "status"}, Cwd: "/p",
		Decision: "approved", Reason: "r", By: "anna", How: "person", Scope: "session", Grant: "g", Rule: "rule 3",
		Note: "n", Risk: "high", Reasons: []string{"x"}, Approval: "q", Digest: "d", Mode: "interactive",
		Profile: "p", Enforcement: "partial", Layers: []string{"bwrap", "landlock"}, Gaps: []string{"memory"},
		Exit: number(0), Signal: "SIGKILL", TimedOut: true, DurationMS: 12, Limits: []string{"wall"}, CutBytes: 9,
		Violations: []string{"read /etc/shadow"}, Undo: "u", Error: "e", Detail: map[string]string{"k": "v"},
	}
	given := want
	given.Input = json.RawMessage(`{"b":{"token":"hunter2","n":1.0},"content":"hunter2","list":[{"TOKEN":"hunter2","a":1}]}`)
	given.Exclude = []string{"token"}
	want.Input = json.RawMessage(`{"b":{"n":1.0},"list":[{"a":1}]}`)
	if err := l.Append(given); err != nil {
		t.Fatal(err)
	}
	page, err := l.Query(audit.Filter{Category: audit.Execution})
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if d := cmp.Diff(want, page.Entries[0].Record); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(page.Entries[0].Raw), "hunter2") {
		t.Errorf("a secret was recorded: %s", page.Entries[0].Raw)
	}
	for path, want := range map[string]fs.FileMode{"": 0o700, "00000001.jsonl": 0o600, "lock": 0o600, "redo": 0o600} {
		if fi, err := os.Stat(filepath.Join(dir, path)); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%q: %v, %v", path, fi.Mode(), err)
		}
	}
}

// The format is what the package comment says: another program can check it.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(dir, 0o700)
	l := open(t, dir, audit.Options{})
	fill(t, l, 1)
	b, err := os.ReadFile(filepath.Join(dir, "00000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command("python3", "-c", `
import sys, json, hashlib
prev = "0"*64
for i, line in enumerate(sys.stdin.buffer, 1):
    head, sep, tail = line.rpartition(b',"hash":"')
    r = json.loads(line)
    assert line.startswith(b'{"seq":%d,"prev":"%s",' % (i, prev.encode())), line
    assert tail == r["hash"].encode() + b'"}\n'
    prev = hashlib.sha256(head).hexdigest()
    assert r["hash"] == prev
print(i, prev)`)
	check.Stdin = strings.NewReader(string(b))
	out, err := check.CombinedOutput()
	if head := l.Head(); err != nil || string(out) != fmt.Sprintf("%d %s\n", head.Seq, head.Hash) {
		t.Errorf("%s, %v; want %+v", out, err, head)
	}
}

// Records hold text from strangers; a raw line does nothing to a terminal and
// cannot pretend to be two.
func TestUntrustedText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{})
	nasty := "a\n{\"seq\":9}\r\x1b[2J\x07\x7f\u0085\u009b31m\u202egnp.exe\u2028\ufeff\u200b\U000e0041\xff\x00ü漢"
	r := audit.Record{Category: audit.Decision, Subject: nasty, Agent: nasty, Detail: map[string]string{nasty: nasty}}
	r.Input, _ = json.Marshal(map[string]string{nasty: nasty})
	if err := l.Append(r); err != nil {
		t.Fatal(err)
	}
	page, err := l.Query(audit.Filter{Category: audit.Decision})
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, c := range string(page.Entries[0].Raw) {
		if c < 0x20 || c > 0x7e && c != 'ü' && c != '漢' {
			t.Errorf("%U is in the line", c)
		}
	}
	if got, want := page.Entries[0].Subject, strings.ToValidUTF8(nasty, "\ufffd"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is too long is shortened, says so, and can still be compared.
func TestLongRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{MaxRecord: 16 << 10})
	long := strings.Repeat("ä", 50000)
	r := audit.Record{Category: audit.Decision, Subject: long, Argv: []string{long, long}, Note: "short",
		Detail: map[string]string{"k": long}}
	r.Input, _ = json.Marshal(map[string]string{"k": long})
	if err := l.Append(r); err != nil {
		t.Fatal(err)
	}
	page, err := l.Query(audit.Filter{Category: audit.Decision})
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	e := page.Entries[0]
	if len(e.Raw) > 17<<10 || !strings.HasPrefix(e.Subject, "ää") || !strings.HasSuffix(e.Subject, "ä…") ||
		e.Note != "short" || e.Input != nil {
		t.Errorf("%d bytes: %+v", len(e.Raw), e.Record)
	}
	for _, name := range []string{"subject", "argv", "detail", "input"} {
		if !strings.Contains(e.Cut[name], "sha256 ") {
			t.Errorf("cut: %v", e.Cut)
		}
	}
}

// Input that is no object is the caller's mistake, and stops the operation.
func TestBadRecord(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "log"), audit.Options{})
	for _, r := range []audit.Record{
		{},
		{Category: audit.Chain},
		{Category: audit.Decision, Input: json.RawMessage(`[1]`)},
		{Category: audit.Decision, Input: json.RawMessage(`{`)},
		{Category: audit.Decision, Input: json.RawMessage(`{}{}`)},
	} {
		if err := l.Append(r); err == nil {
			t.Errorf("%+v was recorded", r)
		}
	}
	if l.Head().Seq != 1 || l.Err() != nil {
		t.Errorf("%+v, %v", l.Head(), l.Err())
	}
	fill(t, l, 1)
}

// Many at once are all there, in one chain, over several files.
func TestConcurrent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{RotateSize: 8 << 10})
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := range 25 {
				if err := l.Append(audit.Record{Category: audit.Decision, CallID: fmt.Sprint(w, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 { // a check at the same time sees a whole chain
		if _, err := l.Verify(); err != nil {
			t.Error(err)
		}
		if _, err := audit.Verify(dir); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	sum, err := l.Verify()
	if err != nil || sum.Records != 16*25+1 || sum.Files < 5 || sum.Head != l.Head() || len(sum.Repairs) != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	page, err := l.Query(audit.Filter{Category: audit.Decision, Limit: 1000})
	seen := map[string]bool{}
	for _, e := range page.Entries {
		seen[e.CallID] = true
	}
	if err != nil || len(seen) != 16*25 || page.More {
		t.Errorf("%d records, %v", len(seen), err)
	}
}

// A log is continued where it ended.
func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	for i := range 5 {
		l := open(t, dir, audit.Options{RotateSize: 1000})
		if got := l.Opening(); i > 0 && got.Head.Seq != uint64(1+3*i) || got.Broken != nil || got.Repair != nil {
			t.Errorf("opening %d: %+v", i, got)
		}
		fill(t, l, 3)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(audit.Record{Category: audit.Decision}); !errors.Is(err, audit.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
	if sum, err := audit.Verify(dir); err != nil || sum.Records != 16 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// An empty newest file is what a crash right after its making leaves.
func TestReopenEmptyFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{})
	fill(t, l, 3)
	l.Close()
	if err := os.WriteFile(filepath.Join(dir, "00000002.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, audit.Options{})
	fill(t, l, 3)
	if sum, err := l.Verify(); err != nil || sum.Records != 7 || sum.Files != 2 || len(sum.Repairs) != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// Two daemons cannot write one chain.
func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{})
	if _, err := audit.Open(dir, audit.Options{}); !errors.Is(err, audit.ErrLocked) {
		t.Errorf("in this process: %v", err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_TEST_ACT=hold "+dir)
	if out, err := cmd.Output(); err == nil || !strings.Contains(string(out), audit.ErrLocked.Error()) {
		t.Errorf("in another: %q, %v", out, err)
	}
	l.Close()
	open(t, dir, audit.Options{})
}

// What others could look into, write, or put in the place of a log is refused.
func TestOpenRefuses(t *testing.T) {
	for name, setup := range map[string]func(dir string) error{
		"a directory that others may enter": func(dir string) error { return os.Chmod(dir, 0o755) },
		"a file that others may read":       func(dir string) error { return os.Chmod(dir+"/00000001.jsonl", 0o644) },
		"a link for a file": func(dir string) error {
			return errors.Join(os.Rename(dir+"/00000001.jsonl", dir+"/x"), os.Symlink("x", dir+"/00000001.jsonl"))
		},
		"a directory for a file": func(dir string) error { return os.Mkdir(dir+"/00000002.jsonl", 0o700) },
		"a link for the lock": func(dir string) error {
			return errors.Join(os.Remove(dir+"/lock"), os.Symlink("elsewhere", dir+"/lock"))
		},
		"a link for the directory": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		},
		"another owner": func(dir string) error {
			if os.Getuid() != 0 { // an ordinary user has only its own to give
				return os.Chmod(dir, 0o777)
			}
			return os.Chown(dir, 65534, -1)
		},
		"another owner of a file": func(dir string) error {
			if os.Getuid() != 0 {
				return os.Chmod(dir+"/00000001.jsonl", 0o666)
			}
			return os.Chown(dir+"/00000001.jsonl", 65534, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			l := open(t, dir, audit.Options{})
			fill(t, l, 1)
			l.Close()
			if err := setup(dir); err != nil {
				t.Fatal(err)
			}
			if l, err := audit.Open(dir, audit.Options{}); err == nil {
				l.Close()
				t.Error("it was opened")
			} else if !strings.Contains(err.Error(), "open log") {
				t.Error(err)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, audit.Options{RotateSize: 2000})
	at := func(n int) time.Time { return time.Unix(1000+int64(n), 0).UTC() }
	for i := range 60 {
		r := audit.Record{Time: at(i), Category: audit.Decision, Session: fmt.Sprint("s", i%2), Tool: "t",
			CallID: fmt.Sprint(i)}
		if i%3 == 0 {
			r.Decision, r.Agent, r.ExecID = "denied", "a", "e"
		}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		f    audit.Filter
		want string
		more bool
	}{
		{"session", audit.Filter{Session: "s1", Limit: 3}, "1 3 5", true},
		{"the newest", audit.Filter{Session: "s1", Limit: 3, Last: true}, "55 57 59", true},
		{"decision", audit.Filter{Decision: "denied", Since: at(50)}, "51 54 57", false},
		{"agent and exec", audit.Filter{Agent: "a", ExecID: "e", Until: at(7)}, "0 3 6", false},
		{"since and until", audit.Filter{Since: at(10), Until: at(13)}, "10 11 12", false},
		{"after", audit.Filter{AfterSeq: 59}, "58 59", false},
		{"all but", audit.Filter{Category: audit.Decision, Limit: 60, AfterSeq: 58, Last: true}, "57 58 59", false},
		{"none", audit.Filter{Tool: "x"}, "", false},
	} {
		page, err := l.Query(c.f)
		var got []string
		for _, e := range page.Entries {
			got = append(got, e.CallID)
		}
		if err != nil || strings.Join(got, " ") != c.want || page.More != c.more || len(page.Bad) > 0 {
			t.Errorf("%s: %v %v, %v; want %s", c.name, got, page.More, err, c.want)
		}
	}
	path := filepath.Join(dir, "00000001.jsonl")
	b, _ := os.ReadFile(path)
	b[strings.Index(string(b), `"call_id":"1"`)+11] = '9'
	os.WriteFile(path, b, 0o600)
	page, err := audit.Query(dir, audit.Filter{Limit: 5})
	if err != nil || len(page.Bad) != 1 || page.Bad[0].File != "00000001.jsonl" || page.Bad[0].Line != 3 {
		t.Errorf("%+v, %v", page.Bad, err)
	}
}
