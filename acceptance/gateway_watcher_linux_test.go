package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// R-IP-04, R-LY-04: a watcher lists the runs that can be undone, and sees what an undo would do; it undoes nothing.
func TestWatcherUndo(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	v := a.visit("", "chat")
	a.sbx("trust")
	id, ended := a.ask("touch made")
	if r := a.sbx("approve", id, "--allow"); r.code != 0 {
		t.Fatal(r)
	}
	if r := <-ended; r.code != 0 {
		t.Fatal(r)
	}
	v.token = strings.TrimSpace(a.sbx("web", "add", "wall", "--role", "watcher").out)
	status, text, _ := v.request("POST", "/v1/files/undo", map[string]any{"dry_run": true}, nil)
	var list ipc.FileResult
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != 200 || len(list.Changes) != 1 {
		t.Fatalf("the list: %d %s", status, text)
	}
	undo := map[string]any{"undo_id": list.Changes[0].ID, "dry_run": true}
	status, text, _ = v.request("POST", "/v1/files/undo", undo, nil)
	if status != 200 || !strings.Contains(text, "made") {
		t.Errorf("the preview: %d %s", status, text)
	}
	delete(undo, "dry_run")
	status, text, _ = v.request("POST", "/v1/files/undo", undo, nil)
	if status != 403 || !strings.Contains(text, "only look on") || !a.there("made") || a.waiting() != "" {
		t.Errorf("the undo: %d %s", status, text)
	}
}
