package acceptance

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// fileCase is what a case of the catalogue asks of the file tool.
type fileCase struct {
	Op, Path, Content, When string
	Times                   int
}

// fileop asks for the operation through the socket, as an agent whose project is
// the workspace; the daemon asks nobody. It returns what the agent gets to see.
func (h *escapeHarness) fileop(t *testing.T, c fileCase, expand func(string) string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := h.agent.agent.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Root: expand("$WORKSPACE")})
	if err != nil {
		t.Fatal(err)
	}
	client := ipc.Client{Socket: h.agent.agent.Socket, Secret: s.Secret}
	defer client.Close()
	defer client.CloseSession(context.WithoutCancel(ctx), ipc.CloseRequest{Session: s.ID})
	path := strings.ReplaceAll(c.Path, "${OUTSIDE##*/}", filepath.Base(expand("$OUTSIDE")))
	var out strings.Builder
	done := 0
	for range max(1, c.Times) {
		r, err := client.File(ctx, ipc.FileRequest{Op: c.Op, Session: s.ID, Path: expand(path), Content: c.Content,
			Parents: true})
		switch {
		case err == nil:
			done++
			out.WriteString(r.Content)
		case ipc.CodeOf(err) == "":
			t.Fatalf("%s %s: %v", c.Op, path, err)
		case c.Times == 0:
			fmt.Fprintln(&out, err)
		}
	}
	if c.Times == 0 && done > 0 {
		t.Errorf("%s %s was not refused: %s", c.Op, path, out.String())
	}
	t.Logf("%d of %d done", done, max(1, c.Times))
	return out.String()
}

// during asks while the command runs.
func (h *escapeHarness) during(t *testing.T, c escapeCase, expand func(string) string, command func() result) result {
	ended := make(chan result, 1)
	go func() { ended <- command() }()
	said := h.fileop(t, *c.Fileop, expand)
	r := <-ended
	r.out += said
	return r
}
