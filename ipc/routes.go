package ipc

import (
	"context"
	"reflect"
	"slices"
)

// Route is one operation of the interface.
type Route struct {
	Method string
	Path   string // as http.ServeMux writes it
	Name   string // of the operation, stable
	Roles  []Role // the sockets that offer it
	About  string // one sentence for the documents

	handler
}

// handler performs an operation, and describes its input and output for the documents.
type handler struct {
	serve func(*exchange)
	// the JSON body, the JSON answer or one value of a stream; nil: none
	in, out reflect.Type
	read    func(params)                                           // reads the query; nil: there is none
	raw     bool                                                   // the body is taken as it comes
	stream  string                                                 // media type of a stream of out; "": one answer
	follow  func(x *exchange, put func(value []byte) error) *Error // of a stream: each value as JSON
	status  int                                                    // of success; 0: 200
}

// Routes lists every operation that the server offers. The documents are
// checked against it. It is made when it is asked for: a program that is only a
// client links and initialises nothing of it.
func Routes() []Route { return slices.Concat(workRoutes(), answerRoutes()) }

// workRoutes are those of agent.sock.
func workRoutes() []Route {
	both, agent := []Role{RoleAgent, RoleApprover}, []Role{RoleAgent}
	return append(jobRoutes(both), []Route{
		{"GET", "/v1/version", "version", both, "the daemon's version and abilities", plain(Backend.Version)},
		{"GET", "/v1/status", "status", both, "how the daemon and this host are", plain(Backend.Status)},
		{"GET", "/v1/doctor", "doctor", both, "examine the host; with `prove`, attempt each forbidden act",
			query(Backend.Doctor, func(q params) DoctorRequest {
				return DoctorRequest{Prove: q.flag("prove")}
			})},
		{"GET", "/v1/ws", "ws", both, "a WebSocket: JSON-RPC 2.0 under the names of all other operations", webSocket()},
		{"GET", "/v1/profile", "profile", both, "show, explain or compare profiles",
			query(Backend.Profile, func(q params) ProfileRequest {
				return ProfileRequest{Session: q.text("session"), Path: q.text("path"), Against: q.text("against")}
			})},

		{"POST", "/v1/sessions", "session.open", agent, "open a session, or find the terminal's own again",
			created(Backend.OpenSession, nil)},
		{"GET", "/v1/sessions", "session.list", both, "the sessions that the caller may see", plain(Backend.Sessions)},
		{"POST", "/v1/sessions/{id}/turn", "session.turn", both, "the user spoke: a new turn, and the stop is cleared",
			body(Backend.Turn, byID(func(r *TurnRequest) *string { return &r.Session }))},
		{"DELETE", "/v1/sessions/{id}", "session.close", both, "end a session and what runs in it",
			query(Backend.CloseSession, func(q params) CloseRequest {
				return CloseRequest{Session: q.id()}
			})},

		{"POST", "/v1/check", "check", agent, "decide without running", body(Backend.Check, nil)},
		{"POST", "/v1/check/after", "check.after", agent, "say where the command of a call that has ended ran",
			body(Backend.AfterCall, nil)},
		{"POST", "/v1/exec", "exec.start", agent, "queue a command", startExec()},
		{"POST", "/v1/exec/events", "exec.run", agent, "queue a command and follow it", runExec()},
		{"GET", "/v1/exec/{id}/events", "exec.events", both, "follow a command",
			streamed(Backend.ExecEvents, eventsRequest, "application/x-ndjson", ndjson[Event])},
		{"POST", "/v1/exec/{id}/stdin", "exec.stdin", agent, "send a piece of input, or its end", stdin()},
		{"POST", "/v1/exec/{id}/signal", "exec.signal", agent, "send a signal",
			body(done(Backend.SignalExec), byID(func(r *SignalRequest) *string { return &r.ID }))},
		{"POST", "/v1/exec/{id}/resize", "exec.resize", agent, "tell the command's terminal its size",
			body(done(Backend.ResizeExec), byID(func(r *ResizeRequest) *string { return &r.ID }))},
		{"DELETE", "/v1/exec/{id}", "exec.cancel", both, "end the command's whole tree",
			query(done(Backend.CancelExec), func(q params) CancelRequest {
				return CancelRequest{ID: q.id()}
			})},
		{"POST", "/v1/files/{op}", "file", both, "carry out a file operation; an approver: undo a run", changeFile()},
		{"GET", "/v1/changes", "change.list", both, "what commands wrote and what did not land",
			query(Backend.HeldChanges, func(q params) HeldRequest { return HeldRequest{Session: q.text("session")} })},
		{"GET", "/v1/changes/{id}", "change.show", both, "one held change set with its differences",
			query(Backend.HeldChange, func(q params) HeldRequest {
				return HeldRequest{ID: q.id(), Session: q.text("session")}
			})},
		{"POST", "/v1/changes/{id}", "change.land", both, "land or drop a held change set, or some of its paths",
			body(Backend.Land, byID(func(r *LandRequest) *string { return &r.ID }))},
		{"POST", "/v1/batch", "batch", agent, "carry out the calls of one model response, in order",
			large(Backend.Batch, nil)},
	}...)
}

// answerRoutes are those of approver.sock alone.
func answerRoutes() []Route {
	approver := []Role{RoleApprover}
	return []Route{
		{"GET", "/v1/approvals", "approval.list", approver, "the questions that wait", plain(Backend.Approvals)},
		{"GET", "/v1/approvals/{id}", "approval.show", approver, "one question whole, with what a person looks at",
			query(Backend.Approval, func(q params) ApprovalRequest {
				return ApprovalRequest{ID: q.id(), Typing: q.flag("typing")}
			})},
		{"POST", "/v1/approvals/{id}/decision", "approval.decide", approver, "answer a question",
			body(Backend.Decide, byID(func(a *Answer) *string { return &a.ID }))},
		{"GET", "/v1/events", "events", approver, "follow what happens",
			streamed(Backend.News, newsRequest, "text/event-stream", sse)},
		{"GET", "/v1/grants", "grant.list", approver, "what is allowed or refused beyond one call", plain(Backend.Grants)},
		{"GET", "/v1/grants/{id}", "grant.show", approver, "explain one grant", query(Backend.Grant, grantID)},
		{"DELETE", "/v1/grants/{id}", "grant.revoke", approver, "withdraw one grant, at once",
			query(done(Backend.Revoke), grantID)},
		{"GET", "/v1/stats", "stats", approver, "count decisions", plain(Backend.Stats)},
		{"DELETE", "/v1/stats", "stats.reset", approver, "count from 0 again",
			query(done(func(b Backend, ctx context.Context, c Caller, _ struct{}) error {
				return b.ResetStats(ctx, c)
			}), func(params) struct{} { return struct{}{} })},
		{"GET", "/v1/advice", "advice", approver, "propose what would save questions", plain(Backend.Advice)},
		{"GET", "/v1/audit", "audit", approver, "read records", query(Backend.Audit, func(q params) AuditRequest {
			return AuditRequest{
				Session: q.text("session"), Agent: q.text("agent"), Tool: q.text("tool"),
				Category: q.text("category"), Decision: q.text("decision"),
				ExecID: q.text("exec_id"), Grep: q.text("grep"),
				Since: q.time("since"), Until: q.time("until"),
				AfterSeq: q.number("after_seq"), Limit: int(q.number("limit")), Last: q.flag("last"),
			}
		})},
		{"GET", "/v1/audit/verify", "audit.verify", approver, "check the chain of records",
			query(Backend.VerifyAudit, func(q params) AuditVerifyRequest {
				return AuditVerifyRequest{AnchorSeq: q.number("anchor_seq"), AnchorHash: q.text("anchor_hash")}
			})},
		{"GET", "/v1/mode", "mode", approver, "how a session, or the daemon, decides",
			query(Backend.Mode, func(q params) ModeRequest {
				return ModeRequest{Session: q.text("session")}
			})},
		{"POST", "/v1/mode", "mode.set", approver, "change that", body(Backend.SetMode, nil)},
		{"GET", "/v1/trust", "trust.list", approver, "the directories that a person trusts", plain(Backend.Trusted)},
		{"POST", "/v1/trust", "trust.add", approver, "trust one", body(Backend.Trust, nil)},
		{"DELETE", "/v1/trust", "trust.remove", approver, "trust it no more",
			query(done(Backend.Distrust), func(q params) TrustRequest {
				return TrustRequest{Dir: q.must("dir")}
			})},
		{"GET", "/v1/settings/{id}", "setting.get", approver, "a setting as it is in force",
			query(Backend.Setting, func(q params) SettingRequest {
				return SettingRequest{Key: q.id(), Dir: q.text("dir")}
			})},
		{"POST", "/v1/settings", "setting.change", approver, "change the configuration for a project, a session or the user",
			body(Backend.Change, nil)},
		{"POST", "/v1/web/invitations", "web.invite", approver, "let one browser in at the gateway", plain(Backend.Invite)},
		{"GET", "/v1/web/front_ends", "web.list", approver, "the programs that may use the gateway",
			plain(Backend.FrontEnds)},
		{"POST", "/v1/web/front_ends", "web.add", approver, "make a token for one", body(Backend.AddFrontEnd, nil)},
		{"DELETE", "/v1/web/front_ends/{id}", "web.remove", approver, "take its token out of force",
			query(done(Backend.RemoveFrontEnd), func(q params) FrontEndName {
				return FrontEndName{Name: q.id()}
			})},
		{"POST", "/v1/reload", "reload", approver, "read the configuration again, whole or not at all",
			plain(Backend.Reload)},
		{"POST", "/v1/shutdown", "shutdown", approver, "end the daemon", body(done(Backend.Shutdown), nil)},
	}
}

// jobRoutes lists the operations on what commands left running.
func jobRoutes(both []Role) []Route {
	id := func(q params) JobRequest { return JobRequest{ID: q.id()} }
	return []Route{
		{"GET", "/v1/jobs", "job.list", both, "what commands left running in the sessions that the caller may see",
			plain(Backend.Jobs)},
		{"GET", "/v1/jobs/{id}", "job.show", both, "one of them with its newest output", query(Backend.Job, id)},
		{"POST", "/v1/jobs/{id}/stop", "job.stop", both, "end it",
			body(Backend.StopJob, byID(func(r *JobRequest) *string { return &r.ID }))},
	}
}

func grantID(q params) GrantRequest { return GrantRequest{ID: q.id()} }
