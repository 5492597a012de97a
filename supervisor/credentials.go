package supervisor

import (
	"context"
	"encoding/json"
	"maps"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/shell"
)

// readsCredentials reports whether a person lets commands of the project read the files of credentials that are all
// which keeps a command from being contained. Where nobody does, the question offers it. A session that reaches hosts
// of no preset, or ports of this machine, has no such answer: a program could send there what it reads.
func (s *Supervisor) readsCredentials(ctx context.Context, e *Exec, cfg *config.Config, j *judgement) (bool, error) {
	v := &j.verdict
	if len(v.Credentials) == 0 || reachesServices(cfg, v.Network) {
		return false, nil
	}
	read := map[string]any{shell.CredentialsKey: v.Credentials}
	d, err := s.Approval.Preview(ctx, approval.Call{
		ID: e.ID, Principal: e.Session.principal(), Session: e.Session.ID, Agent: e.Session.Agent, Project: e.Session.Root,
		Tool: "bash", Payload: read, Digest: e.ID, Cwd: e.Request.shown(),
		Request: &approval.Request{Tool: "bash", Description: "read credentials", Payload: read},
	})
	if err != nil || d.Approved && d.Reason == approval.ReasonGrant {
		return err == nil, err
	}
	v.Suggestions = append(v.Suggestions, shell.LetRead(j.command, v.Credentials))
	v.Payload = maps.Clone(v.Payload)
	maps.Copy(v.Payload, read)
	j.payload, err = json.Marshal(v.Payload)
	return false, err
}
