package worker_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/files"
	"sandboxd/files/filestest"
	"sandboxd/files/worker"
)

// What was decided on is what happens: anything that changed in between, ours or
// the path's, is a conflict and changes nothing (DESIGN §2.5).
func TestStaleFacts(t *testing.T) {
	for name, change := range map[string]func(b *filestest.Bench){
		"content":     with("a", "theirs"),
		"same length": with("a", "OLD"),
		"mode":        func(b *filestest.Bench) { os.Chmod(filepath.Join(b.Root, "a"), 0o600) },
		"removed":     func(b *filestest.Bench) { os.Remove(filepath.Join(b.Root, "a")) },
		"a link now": func(b *filestest.Bench) {
			os.Rename(filepath.Join(b.Root, "a"), filepath.Join(b.Root, "b"))
			os.Symlink("b", filepath.Join(b.Root, "a"))
		},
		"another file": func(b *filestest.Bench) {
			b.Write("b", "old")
			os.Rename(filepath.Join(b.Root, "b"), filepath.Join(b.Root, "a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := filestest.New(t, filestest.Options{})
			b.Write("a", "old")
			ctx, cancel := b.Context()
			defer cancel()
			req := files.Request{Op: files.Write, Path: "a", Content: []byte("new")}
			facts, err := b.Client.Facts(ctx, req)
			must(t, err)
			change(b)
			before := filestest.Snapshot(t, b.Root)
			if _, _, err := b.Carry(ctx, req, facts); answer(err) != string(files.Changed) {
				t.Errorf("got %v", err)
			}
			if after := filestest.Snapshot(t, b.Root); after != before {
				t.Errorf("something was changed:\n%s", after)
			}
		})
	}
	b := filestest.New(t, filestest.Options{})
	b.Write("a", "old")
	ctx, cancel := b.Context()
	defer cancel()
	req := files.Request{Op: files.Write, Path: "a", Content: []byte("shown")}
	facts, err := b.Client.Facts(ctx, req)
	must(t, err)
	req.Content = []byte("other")
	if _, _, err := b.Carry(ctx, req, facts); answer(err) != string(files.Changed) || b.Content("a") != "old" {
		t.Errorf("another content than was shown: %v", err)
	}
}

// refusing is a keeper that cannot keep.
type refusing struct{ err error }

func (k refusing) Keep(context.Context, []files.Step, []*os.File, bool) error { return k.err }

// What cannot be kept does not happen.
func TestNoChangeWithoutKeeping(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	with("a", "old", "d/x", "1")(b)
	before := filestest.Snapshot(t, b.Root)
	ctx, cancel := b.Context()
	defer cancel()
	for _, req := range []files.Request{
		{Op: files.Write, Path: "a", Content: []byte("new")}, {Op: files.Delete, Path: "a"},
		{Op: files.Move, Path: "a", To: "b"},
		{Op: files.Create, Path: "x/y", Parents: true}, {Op: files.Rmdir, Path: "d", Recursive: true},
		{Op: files.Mkdir, Path: "m"},
	} {
		facts, err := b.Client.Facts(ctx, req)
		must(t, err)
		for _, keeper := range []files.Keeper{nil, refusing{errors.New("disk full")},
			refusing{&files.Conflict{Reason: files.TooLarge}}} {
			if _, err := b.Client.Do(ctx, req, facts, keeper); err == nil {
				t.Errorf("%s happened, and %v kept it", req.Op, keeper)
			}
		}
	}
	if after := filestest.Snapshot(t, b.Root); after != before {
		t.Errorf("something was changed:\n%s\n--- instead of\n%s", after, before)
	}
}

// The worker refuses by itself paths that the rules block.
func TestWorkerRefusesWhatIsBlocked(t *testing.T) {
	cfg := files.Defaults()
	cfg.Hidden, cfg.ReadOnly = []string{"secret"}, []string{"vendor"}
	b := filestest.New(t, filestest.Options{Config: &cfg})
	with("secret", "CANARY", "vendor/a", "1")(b)
	ctx, cancel := b.Context()
	defer cancel()
	for _, req := range []files.Request{
		{Op: files.Read, Path: "secret"}, {Op: files.Copy, Path: "secret", To: "c"},
		{Op: files.Move, Path: "secret", To: "c"},
		{Op: files.Write, Path: "vendor/a", Content: []byte("x")}, {Op: files.Delete, Path: "vendor/a"},
		{Op: files.Read, Path: "/etc/passwd"},
	} {
		r, err := b.Client.Do(ctx, req, files.Facts{}, refusing{})
		if err == nil || strings.Contains(string(r.Content), "CANARY") {
			t.Errorf("%s %s: %q, %v", req.Op, req.Path, r.Content, err)
		}
		if p, err := b.Client.Preview(ctx, req); err == nil || strings.Contains(string(p.Old), "CANARY") {
			t.Errorf("preview of %s %s: %q, %v", req.Op, req.Path, p.Old, err)
		}
	}
}

// Where reading asks, a conflict shows no content.
func TestQuietConflicts(t *testing.T) {
	b := filestest.New(t, filestest.Options{})
	b.Write("a", "the CANARY line\n")
	req := files.Request{Op: files.Edit, Path: "a", Edits: []files.Replacement{{Find: "the CANERY line", Replace: "x"}}}
	if _, _, err := b.Do(req); err == nil || !strings.Contains(err.Error(), "CANARY") {
		t.Errorf("the nearest text is missing: %v", err)
	}
	req.Quiet = true
	if _, _, err := b.Do(req); err == nil || strings.Contains(err.Error(), "CANARY") ||
		strings.Contains(err.Error(), "sha256") {
		t.Errorf("the nearest text is reported: %v", err)
	}
}

// A worker that dies, hangs or babbles makes the client useless and nothing
// else: no hang, no panic, and never an answer.
func TestBrokenWorker(t *testing.T) {
	setup := worker.Setup{Config: files.Defaults(),
		Place: files.Place{Project: "/p", Roots: map[string]string{"project": "/p"}}}
	for name, play := range map[string]func(c *net.UnixConn){
		"hangs up":       func(c *net.UnixConn) { c.Close() },
		"babbles":        func(c *net.UnixConn) { c.Write([]byte(strings.Repeat("babble", 100))) },
		"huge head":      func(c *net.UnixConn) { c.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) },
		"huge body":      func(c *net.UnixConn) { c.Write([]byte{0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, '{', '}'}) },
		"no JSON":        func(c *net.UnixConn) { c.Write([]byte{0, 0, 0, 2, 0, 0, 0, 0, 'x', 'x'}) },
		"half a frame":   func(c *net.UnixConn) { c.Write([]byte{0, 0, 0, 9, 0, 0, 0, 0, '{'}); c.CloseWrite() },
		"an empty reply": func(c *net.UnixConn) { c.Write([]byte{0, 0, 0, 2, 0, 0, 0, 0, '{', '}'}) },
		"hangs":          func(c *net.UnixConn) { time.Sleep(300 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, err := worker.Pair()
			must(t, err)
			other, err := net.FileConn(theirs)
			must(t, err)
			theirs.Close()
			go func() {
				defer other.Close()
				conn := other.(*net.UnixConn)
				conn.Write([]byte{0, 0, 0, 2, 0, 0, 0, 0, '{', '}'}) // set up
				play(conn)
				buf := make([]byte, 1<<16)
				for {
					if _, err := conn.Read(buf); err != nil {
						return
					}
				}
			}()
			client, err := worker.NewClient(ours, setup)
			if err != nil {
				return // broken from the start
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			start := time.Now()
			if _, err := client.Facts(ctx, files.Request{Op: files.Read, Path: "a"}); err == nil {
				t.Error("an answer")
			}
			if _, err := client.Facts(context.Background(),
				files.Request{Op: files.Read, Path: "a"}); !errors.Is(err, worker.ErrBroken) {
				t.Errorf("the client continues: %v", err)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
}

// What a folder takes along that may not be touched by itself is named, so that it
// is asked about as what is protected is.
func TestFolderNamesOtherSuffixes(t *testing.T) {
	cfg := files.Defaults()
	cfg.Paths = map[string]files.Sandbox{"project": {Root: ".", Mode: "rw"},
		"docs": {Root: "docs", Mode: "rw", Suffixes: []string{".md"}}}
	b := filestest.New(t, filestest.Options{Config: &cfg, Place: func(p *files.Place) {
		os.MkdirAll(filepath.Join(p.Project, "docs/sub"), 0o755)
	}})
	b.Write("docs/sub/a.md", "x")
	b.Write("docs/sub/key.pem", "x")
	ctx, cancel := b.Context()
	defer cancel()
	for _, req := range []files.Request{{Op: files.Rmdir, Path: "docs/sub", Recursive: true},
		{Op: files.Move, Path: "docs/sub", To: "sub"}} {
		facts, err := b.Client.Facts(ctx, req)
		must(t, err)
		if !slices.Equal(facts.Path.Holds, []string{"key.pem"}) {
			t.Errorf("%s: %v", req.Op, facts.Path.Holds)
		}
		if v := b.Rules.Judge(req, facts); v.Decision != files.Ask || !v.Protected {
			t.Errorf("%s: %v %s", req.Op, v.Decision, v.Why)
		}
	}
}
