package main

import (
	"errors"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// The hint about a broken file names the file that the daemon was started with: the check read the usual one.
func TestReloadHint(t *testing.T) {
	s := serveHere(t, "")
	s.configure("[approval\n")
	_, err := s.approver.Reload(t.Context())
	var e *ipc.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "check --config \""+s.base+"/config.toml\"") {
		t.Errorf("got %v and the hint %q", err, e.Hint)
	}
}

// Requests that were taken, and answered something else than was asked.
func TestRefusedRequests(t *testing.T) {
	s := serveHere(t, "")
	ctx := t.Context()
	for _, c := range []struct {
		want string
		ask  func() error
	}{
		{"category \"banana\": want decision", func() error {
			_, err := s.approver.Audit(ctx, ipc.AuditRequest{Category: "banana"})
			return err
		}},
		{"anchor_hash", func() error {
			_, err := s.approver.VerifyAudit(ctx, ipc.AuditVerifyRequest{AnchorSeq: 1})
			return err
		}},
		{"anchor_hash", func() error {
			_, err := s.approver.VerifyAudit(ctx, ipc.AuditVerifyRequest{AnchorSeq: 1, AnchorHash: "beef"})
			return err
		}},
		{"anchor_seq", func() error {
			_, err := s.approver.VerifyAudit(ctx, ipc.AuditVerifyRequest{AnchorHash: strings.Repeat("a", 64)})
			return err
		}},
		{"session is missing", func() error {
			_, err := s.agent.HeldChanges(ctx, ipc.HeldRequest{})
			return err
		}},
	} {
		if err := c.ask(); code(err) != ipc.CodeBadRequest || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want a bad request: %s", err, c.want)
		}
	}
}
