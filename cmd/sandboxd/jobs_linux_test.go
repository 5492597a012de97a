package main

import (
	"strings"
	"testing"

	"sandboxd/ipc"
)

// Jobs through both sockets: listed, shown with their output, and stopped. R-LY-09
func TestJobsOfAgents(t *testing.T) {
	s := serveHere(t, "[sandbox]\nbackend = \"native\"\n", "--mode", "approve-all")
	ctx := t.Context()
	must(s.approver.Trust(ctx, ipc.TrustRequest{Dir: s.project}))(t)
	session := s.session()
	for _, c := range []struct {
		name   string
		client *ipc.Client
		why    string
	}{
		{"by the agent", s.agent, "stopped by its session's program"},
		{"by a person", s.approver, "stopped by a person"},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := "(echo ready; exec sleep 300) & echo begun"
			out, exit := s.output(ipc.ExecRequest{Session: session.ID, Command: line})
			if exit.Job == "" {
				t.Fatalf("got %q and %+v, want a job", out, exit)
			}
			list := must(c.client.Jobs(ctx))(t)
			if len(list.Jobs) == 0 || list.Jobs[len(list.Jobs)-1].Session != session.ID {
				t.Errorf("got %+v, want the session's job", list.Jobs)
			}
			job := must(c.client.Job(ctx, ipc.JobRequest{ID: exit.Job}))(t)
			if job.Ended != nil || !strings.Contains(out+string(job.Log), "ready") {
				t.Errorf("got %+v after %q, want a running job and its output", job, out)
			}
			stopped := must(c.client.StopJob(ctx, ipc.JobRequest{ID: exit.Job}))(t)
			if stopped.Ended == nil || stopped.Why != c.why {
				t.Errorf("got %+v, want its end: %s", stopped, c.why)
			}
			if _, err := c.client.Job(ctx, ipc.JobRequest{ID: "j-absent"}); code(err) != ipc.CodeNotFound {
				t.Errorf("got %v for a job that does not exist, want %s", err, ipc.CodeNotFound)
			}
		})
	}
}
