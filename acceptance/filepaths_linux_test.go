package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// Issue "The file tool", 4 (R-FS-05, R-FS-07): the path catalogue through the
// socket and the worker's sandbox, as root and as an ordinary user. files/worker
// has the long table; here are the rows that a sandbox could change.
func TestFilePathCatalogue(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh(
			`mkdir d; echo x > a.txt; echo x > d/b.txt; ln -s a.txt in; ln -s ../a.txt d/up; ln -s /etc/passwd out; ln -s /etc dout; ln -s "$PWD/a.txt" absin
ln -s loop loop; ln -s gone dangling; ln a.txt hard; mkfifo fifo; echo x > readonly; chmod 444 readonly; ln -s /proc/self/root proc; ln -s /dev/fd/0 fd
rm hard; echo x > h1; ln h1 h2; printf 'caf' > "$(printf 'caf\303\251')"; truncate -s 10G huge; printf '#!/bin/sh\n' > setuid; chmod 4755 setuid`,
		)
		a.start("--mode", "approve-all")
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		long := strings.Repeat("n", 255)
		for _, row := range []struct{ path, read, write string }{
			{"a.txt", "ok", "ok"}, {"./a.txt", "ok", "ok"}, {"d/./../a.txt", "ok", "ok"}, {"d//b.txt", "ok", "ok"},
			{a.project + "/a.txt", "ok", "ok"}, {"/" + a.project + "/a.txt", "ok", "ok"},
			{"a.txt/", "not_a_folder", "not_a_folder"}, {"a.txt/x", "not_a_folder", "not_a_folder"}, {"d/", "not_a_file", "not_a_file"}, {".", "not_a_file", "blocked"},
			{"../x", "blocked", "blocked"}, {"d/../../x", "blocked", "blocked"}, {"/etc/passwd", "blocked", "blocked"}, {a.project + "-evil/x", "blocked", "blocked"},
			{"~/x", "bad_path", "bad_path"}, {"./~", "missing", "ok"}, {"a\n.txt", "bad_path", "bad_path"}, {"a\x1b[2K", "bad_path", "bad_path"},
			{long, "missing", "ok"}, {long + "n", "bad_path", "bad_path"}, {strings.Repeat("p/", 2047) + "x", "missing", "missing"}, {strings.Repeat("p/", 2047) + "xx", "bad_path", "bad_path"},
			{"A.TXT", "missing", "ok"}, {"caf\u00e9", "ok", "ok"}, {"cafe\u0301", "missing", "ok"}, {"\u0430.txt", "missing", "ok"}, {"a\u200b.txt", "missing", "ok"},
			{"/proc/self/root" + a.project + "/a.txt", "blocked", "blocked"}, {"/proc/self/cwd/a.txt", "blocked", "blocked"}, {"/dev/fd/0", "blocked", "blocked"}, {"/proc/1/environ", "blocked", "blocked"},
			{"in", "ok", "ok"}, {"d/up", "ok", "ok"}, {"out", "outside", "outside"}, {"dout/x", "outside", "outside"}, {"absin", "outside", "outside"},
			{"loop", "bad_path", "bad_path"}, {"dangling", "missing", "ok"}, {"proc", "outside", "outside"}, {"fd", "outside", "outside"},
			{"h1", "hard_link", "hard_link"}, {"fifo", "special", "special"}, {"readonly", "ok", "forbidden"}, {"setuid", "ok", "unkept"}, {"huge", "ok", "too_large"},
		} {
			if _, err := agent.do(ctx, ipc.FileRequest{Op: "read", Path: row.path, Limit: 4096}); messageOf(
				err,
			) != row.read {
				t.Errorf("read %.60q: %s, want %s (%.200v)", row.path, messageOf(err), row.read, err)
			}
			if _, err := agent.do(ctx, ipc.FileRequest{Op: "write", Path: row.path, Content: "new\n"}); messageOf(
				err,
			) != row.write {
				t.Errorf("write %.60q: %s, want %s (%.200v)", row.path, messageOf(err), row.write, err)
			}
		}
		for _, path := range []string{"", "a\x00b"} {
			if _, err := agent.do(ctx, ipc.FileRequest{Op: "read", Path: path}); ipc.CodeOf(err) != ipc.CodeBadRequest {
				t.Errorf("read %q: %v", path, err)
			}
		}

		// What can't be held in memory is streamed, or refused.
		r, err := agent.do(
			ctx,
			ipc.FileRequest{Op: "read", Path: "huge", Offset: 9 << 30, Limit: 8 << 20, Encoding: "base64"},
		)
		if err != nil || !r.Truncated || r.Size != 10<<30 {
			t.Errorf("reading in 10 GB: size %d, truncated %v, %v", r.Size, r.Truncated, err)
		}
		for _, req := range []ipc.FileRequest{{Op: "edit", Path: "huge", Edits: []ipc.Edit{{Find: "x", Replace: "y"}}}, {Op: "append", Path: "huge", Content: "x"}, {Op: "delete", Path: "huge"}} {
			if _, err := agent.do(ctx, req); messageOf(err) != "too_large" {
				t.Errorf("%s of 10 GB: %v", req.Op, err)
			}
		}
		for _, req := range []ipc.FileRequest{{Op: "grep", Path: ".", Pattern: "zzz", Recursive: true}, {Op: "move", Path: "huge", To: "huge2"}, {Op: "stat", Path: "huge2"}} {
			if _, err := agent.do(ctx, req); err != nil {
				t.Errorf("%s beside 10 GB: %v", req.Op, err)
			}
		}
		for _, p := range a.workers() {
			if peak := peakMemory(t, p.pid); peak > 64<<20 {
				t.Errorf("the worker took %d MiB", peak>>20)
			}
		}
		for _, name := range []string{filepath.Join(filepath.Dir(a.project), "x"), a.project + "-evil"} {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("%s was made", name)
			}
		}
	})
}

// messageOf is what an answer says in a word: "ok", a conflict's reason, or a code.
func messageOf(err error) string {
	var e *ipc.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e) && e.Conflict != nil:
		return e.Conflict.Reason
	}
	return string(ipc.CodeOf(err))
}

// peakMemory is the most that a process held resident, without what it maps of
// its program.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb << 10
		}
	}
	t.Fatalf("no VmHWM in\n%s", b)
	return 0
}
