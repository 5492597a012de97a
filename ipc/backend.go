package ipc

import "context"

// Backend performs requests. The [Server] calls its methods concurrently, each with a context that
// ends when the client hangs up or the server stops.
//
// A method that refuses returns an [*Error]; any other error is logged and becomes CodeInternal. An
// object that a caller may not see is CodeNotFound, exactly as one that does not exist.
type Backend interface {
	// Admit decides, once per connection and before its first byte is
	// read, whether the peer may use this socket at all. It must not wait: other
	// peers are behind this one. The server has already refused peers that it
	// could not identify, and approvers that are [Peer.Inside] a sandbox.
	Admit(Peer, Role) error

	AnyBackend
	AgentBackend
	ApproverBackend
}

// AnyBackend has the operations of both sockets.
type AnyBackend interface {
	Version(context.Context, Caller) (Version, error)
	Status(context.Context, Caller) (Status, error)
	Doctor(context.Context, Caller, DoctorRequest) (Doctor, error)
	Profile(context.Context, Caller, ProfileRequest) (Profile, error)
	Sessions(context.Context, Caller) (SessionList, error)
	Turn(context.Context, Caller, TurnRequest) (Turn, error) // by an approver: clears a stop
	CloseSession(context.Context, Caller, CloseRequest) (Closed, error)
	ExecEvents(context.Context, Caller, EventsRequest) (Stream[Event], error)
	CancelExec(context.Context, Caller, CancelRequest) error
	Jobs(context.Context, Caller) (JobList, error)
	Job(context.Context, Caller, JobRequest) (Job, error)
	StopJob(context.Context, Caller, JobRequest) (Job, error) // returns when it has ended
}

// AgentBackend has the further operations of agent.sock.
type AgentBackend interface {
	OpenSession(context.Context, Caller, SessionRequest) (Session, error)
	// Check waits for a person where one must be asked, unless DryRun.
	Check(context.Context, Caller, CheckRequest) (Verdict, error)
	AfterCall(context.Context, Caller, AfterCallRequest) (AfterCall, error)
	// StartExec queues the command and returns at once; where the request has Open, it first does
	// the work of OpenSession. It is called once for requests with the same idempotency key. Its
	// context ends with the request: work that continues must not depend on it. Unless Keep is set,
	// the backend ends the command when its last stream that is not a Watch closes before the exit
	// event, or when none was opened within some seconds.
	StartExec(context.Context, Caller, ExecRequest) (ExecStarted, error)
	// WriteStdin returns when the command has room for the data: that is the
	// back-pressure.
	WriteStdin(context.Context, Caller, StdinRequest) error
	SignalExec(context.Context, Caller, SignalRequest) error
	ResizeExec(context.Context, Caller, ResizeRequest) error
	// File waits for a person where one must be asked, unless DryRun. An approver undoes runs.
	File(context.Context, Caller, FileRequest) (FileResult, error)
	HeldChanges(context.Context, Caller, HeldRequest) (HeldChanges, error)
	HeldChange(context.Context, Caller, HeldRequest) (HeldChange, error)
	// Land waits for a person where one must be asked, unless DryRun.
	Land(context.Context, Caller, LandRequest) (FileResult, error)
	Batch(context.Context, Caller, BatchRequest) (BatchResult, error)
}

// ApproverBackend has the further operations of approver.sock.
type ApproverBackend interface {
	Approvals(context.Context, Caller) (ApprovalList, error)
	// Approval builds the presentation: a person is about to look.
	Approval(context.Context, Caller, ApprovalRequest) (Approval, error)
	Decide(context.Context, Caller, Answer) (Decided, error)
	News(context.Context, Caller, NewsRequest) (Stream[News], error)
	Grants(context.Context, Caller) (GrantList, error)
	Grant(context.Context, Caller, GrantRequest) (Grant, error)
	Revoke(context.Context, Caller, GrantRequest) error
	Stats(context.Context, Caller) (Stats, error)
	ResetStats(context.Context, Caller) error
	Advice(context.Context, Caller) (Advice, error)
	Audit(context.Context, Caller, AuditRequest) (AuditPage, error)
	VerifyAudit(context.Context, Caller, AuditVerifyRequest) (AuditVerdict, error)
	Mode(context.Context, Caller, ModeRequest) (Mode, error)
	SetMode(context.Context, Caller, Mode) (Mode, error)
	Trusted(context.Context, Caller) (TrustList, error)
	Trust(context.Context, Caller, TrustRequest) (Trust, error)
	Distrust(context.Context, Caller, TrustRequest) error
	Setting(context.Context, Caller, SettingRequest) (EffectiveValue, error)
	Change(context.Context, Caller, SettingsChange) (SettingsChanged, error)
	Invite(context.Context, Caller) (Invitation, error)
	FrontEnds(context.Context, Caller) (FrontEndList, error)
	AddFrontEnd(context.Context, Caller, FrontEndRequest) (FrontEnd, error)
	RemoveFrontEnd(context.Context, Caller, FrontEndName) error
	Reload(context.Context, Caller) (Reloaded, error)
	Shutdown(context.Context, Caller, ShutdownRequest) error
}

// Stream yields values one by one. Next returns io.EOF after the last, and ctx's error when ctx
// ends; it is not called concurrently. Close releases the stream, unblocks nothing, and is called
// exactly once by the stream's owner.
type Stream[T any] interface {
	Next(context.Context) (T, error)
	Close() error
}

// ready is a [Stream] that knows whether Next would return at once, be it with io.EOF. Values that
// are ready together are sent together.
type ready interface{ Ready() bool }

func isReady(stream any) bool {
	r, ok := stream.(ready)
	return ok && r.Ready()
}
