package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

// onlyWrite are the verbs without --json: they only write or serve, or their output has a form of its own.
var onlyWrite = []string{
	"mcp", "acp", "shell", "stop", "session resume", "grants rm", "web rm", "config schema", "config reload",
	"log anchor", "log export", "hook install", "mcp wrap", "completion bash", "completion fish", "completion zsh",
}

// jsonCalls are calls of each verb, to which the test adds --json. Words in capitals are names of jsonIDs, ~ is a
// space within a word. Those under "nothing" run with a daemon that has nothing to list yet. A "failing" call
// prints one value or none.
var jsonCalls = map[string][]string{
	"nothing": {
		"advise", "changes", "check -- git push", "check -c true", "config check", "config show", "doctor --quick",
		"file ls hollow", "file read empty", "file stat empty", "grants ls", "hook ls", "jobs", "log", "log --decision none",
		"log verify", "mode", "pending", "preset ls", "profile explain .", "profile show", "profile show --operator",
		"rules import --from claude empty.json", "session ls", "stats", "status", "trust --list", "undo --list", "version",
		"web ls",
	},
	"something": {
		"advise", "changes", "changes show HELD", "changes land --dry-run HELD", "changes drop --dry-run HELD",
		"check -c rm~x", "allow example.org", "config get network.allow", "config set network.mode none",
		"config unset network.mode", "doctor", "file write notes.txt", "file append --dry-run notes.txt",
		"file copy --dry-run notes.txt copy.txt", "file delete --dry-run notes.txt",
		"file edit --dry-run README --find hello --replace bye", "file grep hello .",
		"file insert --dry-run --line 1 README", "file ls .", "file mkdir --dry-run docs",
		"file move --dry-run notes.txt moved.txt", "file read README", "file rmdir --dry-run hollow", "file stat README",
		"grants ls", "grants why GRANT", "jobs", "jobs log JOB", "jobs stop JOB", "log", "log verify",
		"mode --session SESSION", "mode --session SESSION interactive", "pending", "pending QUESTION",
		"approve QUESTION --deny", "preset add go", "preset ls", "preset rm go",
		"profile diff --session SESSION SESSION", "profile explain --session SESSION README",
		"profile show --session SESSION", "rules import --from claude rules.json", "run -- cat README", "session ls",
		"stats", "status", "trust --list", "undo --list", "undo --last --dry-run", "version", "web",
		"web add board", "web ls", "session open", "session close SESSION", "trust .", "trust --remove .",
	},
	"failing": {
		"changes show none", "check", "file grep none .", "file read absent", "file write --no-ask --session s-none x",
		"config get none",
		"grants why none", "jobs log none", "log --grep (", "log verify --anchor 1:ab", "mode --session s-none",
		"pending none", "preset add none", "rules import absent.json", "run -- absent", "run -- cat absent",
		"session close s-none", "stats --reset", "status --watch", "undo f-none", "trust absent",
	},
}

// R-UX-07: each verb that reads has --json, which prints one JSON value, or several, and nothing else, also where there
// is nothing to list. The verbs are those of the command line: one without a call here fails.
func TestJSON(t *testing.T) {
	t.Parallel()
	uncalled := map[string]bool{}
	walk(newRoot(&app{}, nil), func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if endsOf[path] != "" && !slices.Contains(onlyWrite, path) && !strings.HasPrefix(endsOf[path], "guard") {
			uncalled[path] = true
		} else if c.Flags().Lookup("json") != nil {
			t.Errorf("sbx %s has --json, and is among those that only write", path)
		}
	})
	for name, calls := range jsonCalls {
		h := newHouse(t, slow+"[sandbox]\nbackend = \"native\"\n[gateway]\nlisten = \"127.0.0.1:0\"\n")
		for file, text := range map[string]string{
			"empty": "", "empty.json": "{}", "README": "hello\n", "hollow/x/y": "",
			"rules.json": `{"permissions": {"allow": ["Bash(make:*)"]}}`,
		} {
			h.write(file, text)
		}
		if err := os.RemoveAll(filepath.Join(h.project(), "hollow/x")); err != nil {
			t.Fatal(err)
		}
		ids := map[string]string{}
		if name == "something" {
			h.open()
			ids = h.jsonIDs()
		}
		for _, call := range calls {
			args := strings.Fields(call)
			for i, word := range args {
				args[i] = cmp.Or(ids[word], strings.ReplaceAll(word, "~", " "))
			}
			c, _, err := newRoot(&app{}, nil).Find(args)
			if err != nil {
				t.Fatalf("sbx %s: %v", call, err)
			}
			_, path, _ := strings.Cut(c.CommandPath(), " ")
			delete(uncalled, path)
			out, problems, status := h.apart(slices.Insert(args, len(strings.Fields(path)), "--json")...)
			values, err := jsonValues(out)
			streams := path == "log" || path == "rules import"
			wrong := (status == "0") == (name == "failing") || values != 1 && (status == "0" || values > 1) && !streams
			if wrong || err != nil {
				t.Errorf("%s: sbx %q: status %s, %d JSON values, %v\n%s%s", name, args, status, values, err, out, problems)
			}
		}
		if name == "something" {
			h.hasFiles()
		}
	}
	for path := range uncalled {
		t.Errorf("sbx %s: no call with --json", path)
	}
}

// hasFiles checks the names of the daemon's files in manual pages.
func (h *house) hasFiles() {
	h.t.Helper()
	for name, row := range files {
		path := strings.NewReplacer(stateHome, h.dir+"/state", socketHome, h.dir+"/run").Replace(row[0])
		if path != row[0] && name != "page" && !exists(path) {
			h.t.Errorf("FILES has %s, which is not there", row[0])
		}
	}
}

// jsonValues counts the JSON values that a text consists of. They are in printable characters, and none is null.
func jsonValues(text string) (n int, err error) {
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		return 0, fmt.Errorf("%q is not printable", text[i:])
	}
	for values := json.NewDecoder(strings.NewReader(text)); ; n++ {
		var v any
		switch err := values.Decode(&v); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		case v == nil:
			return n, errors.New("null")
		}
	}
}

// jsonIDs makes a held change set, a grant, a job, a session and a question, and returns their ids.
func (h *house) jsonIDs() map[string]string {
	h.t.Helper()
	ctx := context.Background()
	a := h.agent()
	yes := func(done <-chan output, scope string) {
		h.t.Helper()
		h.sbx("approve", h.waits(1)[0].ID, "--allow", "--confirm", "--scope", scope)
		if end := <-done; end.err != nil || end.Status != 0 {
			h.t.Fatal(end)
		}
	}
	yes(a.asks(line("touch granted")), "project")
	yes(a.asks(line("sleep 300 &")), "once")
	yes(a.asks(ipc.BatchCall{Exec: &ipc.ExecRequest{Command: "touch held", Hold: true}}), "once")
	held, err := a.HeldChanges(ctx, ipc.HeldRequest{Session: a.s.ID})
	if err != nil || len(held.Changes) != 1 {
		h.t.Fatal(held, err)
	}
	jobs, err := h.person.Jobs(ctx)
	if err != nil || len(jobs.Jobs) != 1 {
		h.t.Fatal(jobs, err)
	}
	grants, err := h.person.Grants(ctx)
	if err != nil || len(grants.Grants) != 1 {
		h.t.Fatal(grants, err)
	}
	a.asks(line("touch waiting"))
	return map[string]string{"HELD": held.Changes[0].ID, "GRANT": grants.Grants[0].ID, "JOB": jobs.Jobs[0].ID,
		"SESSION": a.s.ID, "QUESTION": h.waits(1)[0].ID}
}
