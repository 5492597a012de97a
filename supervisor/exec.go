package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
	"sandboxd/shell"
)

// ExecRequest asks for one command. Exactly one of Line and Argv is set.
type ExecRequest struct {
	CallID      string
	Line        string
	Argv        []string
	Cwd         string // absolute; empty: the session's root
	Env         map[string]string
	Terminal    bool
	Cols, Rows  uint16
	Timeout     time.Duration // 0: the profile's; never more than that
	Stdin       Stdin
	StdinData   []byte
	Inline      bool               // the person at the caller's terminal may answer
	Client      bool               // the caller can put a question to the agent's own user
	Agent       bool               // the command is an agent: it reaches agent.sock
	Server      bool               // the command serves an agent's client: it has an agent's time
	Profile     *document.Document // narrows the command's profile; nil: nothing does
	Keep        bool               // continue without a listener
	Hold        bool               // its changes are held, and land only by LandHeld
	Direct      bool               // it writes to the project itself, without a layer
	Description string
	Batch       approval.Batch
	Group       string     // calls of the same one are decided together
	Next        []NextCall // the calls of the batch that are still to come
	// Passed are descriptors of the caller's own. They may be refused: see
	// [DescriptorError].
	Passed Descriptors

	ticket     *ticket // from Redeem
	callerRuns bool    // the caller runs it, outside of every sandbox
	cwdUnknown bool    // it is not known in which directory
}

// Stdin says where standard input comes from.
type Stdin string

// The sources of standard input; "" is StdinNone.
const (
	StdinNone   Stdin = "none"
	StdinData   Stdin = "inline"
	StdinStream Stdin = "stream"
)

// Exec is one execution, from the request to its result.
type Exec struct {
	ID      string
	Session *Session
	Request ExecRequest
	Peer    Peer // the requester

	log    *eventLog
	cancel context.CancelCauseFunc
	done   chan struct{}
	// snapshot is that of a direct run that has started; nil: there is none.
	snapshot atomic.Pointer[runSnapshot]
	shut     bool // no further session is opened inside its sandbox; the registry's lock guards it

	mu      sync.Mutex
	proc    *sandbox.Process
	stdin   *inputPipe
	term    *terminal
	result  *Result
	readers int
	shown   profile.Profile // that the question showed
	digest  string          // of shown; "" before a question was put
	profile profile.Profile // under which it runs
	expiry  *time.Timer     // forgets it; nil before it has ended
	unheard *time.Timer     // ends it where nobody follows; set once
	tidying []func()        // cleanup after its end was reported
	report  sandbox.Report
	rule    string    // the rule that made it ask
	asked   time.Time // when the question was put first

	// trustAnswered: the yes to the project's first question covers it, which a policy of that yes need not do again.
	// The goroutine that authorizes it uses it.
	trustAnswered bool
	// openedBy is the opening that came with the yes; "": none. It is the same goroutine's.
	openedBy string
	// created is the directory that was created for it; "": none. It is the same goroutine's, too.
	created string
}

// Events follows the execution from event number from.
func (e *Exec) Events(from uint64) *EventReader { return e.log.reader(from) }

// Done is closed when the result is known.
func (e *Exec) Done() <-chan struct{} { return e.done }

// ended reports whether the execution is over.
func (e *Exec) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// forgettable reports whether it has ended and is only kept to be read.
func (e *Exec) forgettable() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.expiry != nil
}

// Cancel ends the execution for cause; a command that runs is killed with all
// its children.
func (e *Exec) Cancel(cause sandbox.EndCause) { e.cancel(endError(cause)) }

// endError carries the cause of an end through a context.
type endError sandbox.EndCause

func (e endError) Error() string { return string(e) }

// Signal sends sig to the running command; before and after it is nothing.
func (e *Exec) Signal(sig syscall.Signal) error {
	e.mu.Lock()
	p := e.proc
	e.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.Signal(sig)
}

// Exec registers a request and starts on its way. Every outcome
// comes as events; the error is for requests that are malformed.
func (s *Supervisor) Exec(sess *Session, peer Peer, r ExecRequest) (*Exec, error) {
	e, err := s.unstarted(sess, peer, r)
	if err != nil {
		return nil, err
	}
	if err := s.passable(sess, r.Passed); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	e.ID, e.log = "x-"+strings.ToLower(ulid.Make().String()), newEventLog(0)
	e.cancel, e.done = cancel, make(chan struct{})
	if r.Stdin == StdinStream {
		if e.stdin, err = newInputPipe(); err != nil {
			cancel(nil)
			return nil, err
		}
	}
	if err := s.register(e); err != nil {
		cancel(nil)
		e.closeInput()
		return nil, err
	}
	e.expectListener()
	e.log.add(Event{Kind: EventQueued})
	go func() {
		defer s.work.Done()
		defer cancel(nil)
		result := s.walk(ctx, e)
		s.closeInner(e)
		r.Passed.close()
		result.Cut = e.log.flush()
		e.mu.Lock()
		e.result = &result
		e.mu.Unlock()
		s.ended(e)
		e.log.end(Event{Kind: EventEnded, Result: &result})
		close(e.done)
		runtime.Gosched() // the waiting goroutine runs first
		s.tidy(e)
	}()
	runtime.Gosched() // the command comes before the head of the answer
	return e, nil
}

// tidyDelay postpones cleanup, so that clients receive the end first.
const tidyDelay = time.Millisecond

// later runs cleanup after the end of the execution was reported.
func (e *Exec) later(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tidying = append(e.tidying, f)
}

// tidy cleans up after an execution.
func (s *Supervisor) tidy(e *Exec) {
	s.keep(e)
	time.Sleep(tidyDelay)
	e.unheard.Stop()
	e.cleanUp()
}

// cleanUp runs the cleanup that waits.
func (e *Exec) cleanUp() {
	e.mu.Lock()
	list := e.tidying
	e.tidying = nil
	e.mu.Unlock()
	for _, f := range list {
		f()
	}
}

// passable refuses descriptors at once that the session's commands may not have.
func (s *Supervisor) passable(sess *Session, d Descriptors) error {
	if d == (Descriptors{}) {
		return nil
	}
	if sess.outer != nil {
		return ErrNested // descriptors out here may reach further than the sandbox
	}
	p, err := s.ProfileOf(sess)
	if err != nil {
		return err
	}
	return d.permitted(p)
}

// RequestError says that a request is malformed.
type RequestError struct{ Why string }

func (e *RequestError) Error() string { return "request: " + e.Why }

// commandAction is a command: to be run here, or to be checked for a caller that runs it.
type commandAction struct {
	s    *Supervisor
	e    *Exec
	runs bool
	j    *judgement // the last one; nil: judging failed
}

// errAbsent ends the walk of a command that does not exist.
var errAbsent = errors.New("there is no such command")

func (a *commandAction) exec() *Exec { return a.e }

func (a *commandAction) judge(ctx context.Context) (subject, error) {
	j, err := a.s.judge(ctx, a.e)
	if a.j = j; err != nil {
		return subject{}, err
	}
	now := subject{digest: j.digest, call: a.s.call(a.e, j), next: a.e.Request.Next, record: recordOf(a.e, j),
		trusts: j.trusts, above: j.above, withStart: a.runs}
	if !a.runs {
		return now, nil
	}
	if j.absent {
		return subject{}, errAbsent
	}
	now.carried, err = a.s.byTicket(a.e, j)
	return now, err
}

func (a *commandAction) decided(d approval.Decision) error {
	if a.e.openedBy = ""; d.Approved {
		a.e.openedBy = d.Widening
	}
	a.e.log.add(Event{Kind: EventDecided, Decision: &d})
	if a.e.openedBy == "" || !a.runs || a.j.lost == "" {
		return nil
	}
	return errors.Join(a.s.create(a.e, a.j.lost), makeRecords(a.e.Session))
}

// walk is the way of one command: authorize → run. One whose overlay can't be mounted is judged again, as a direct
// run.
func (s *Supervisor) walk(ctx context.Context, e *Exec) Result {
	defer e.closeInput()
	defer s.clearCreated(e)
	select {
	case <-s.looked: // first the remains of an earlier daemon's runs are found
	case <-ctx.Done():
		return s.refuse(e, nil, failure(context.Cause(ctx)))
	}
	a := &commandAction{s: s, e: e, runs: true}
	for range maxAskAgain {
		result := s.runAuthorized(ctx, e, a)
		if !result.unmounted {
			return result
		}
		e.cleanUp()
	}
	return s.refuse(e, a.j, failure(ErrKeptChanging))
}

// runAuthorized authorizes the command, and runs it.
func (s *Supervisor) runAuthorized(ctx context.Context, e *Exec, a *commandAction) Result {
	p, err := s.authorize(ctx, a)
	switch {
	case errors.Is(err, errAbsent):
		shown := invisible(e.Session, e.Request, a.j.plan.Command.Env)
		return s.refuse(e, a.j, notThere(startedAs(e.Request), shown))
	case err != nil:
		return s.refuse(e, a.j, failure(err))
	case !p.Approved:
		return s.refuse(e, a.j, s.denied("bash", a.j.command.Text(), p.Decision))
	}
	return s.run(ctx, e, a.j, p.Decision, p.unrecorded)
}

// failure is the result of a step that went wrong before the command ran.
func failure(err error) Result {
	r := Result{Outcome: NotRun, Code: 125, Message: "Not run: " + err.Error()}
	var unenforced *sandbox.UnenforcedError
	var end endError
	var unrecorded *AuditError
	switch {
	case errors.As(err, &unrecorded):
		return r.unrecorded(err)
	case errors.As(err, &unenforced):
		r.Outcome = Unenforced
		r.Message = "Not run: " + err.Error() + ". Ask the administrator to fix the host (sbx doctor says what is missing)."
	case errors.As(err, &end):
		r.Message = "Not run: " + end.Error() + " before it began."
	case DiskFull(err):
		r.Message = fmt.Sprintf("Not run: the disk is full: %v. %s.\nTell the user to %s.", err, nobody, FreeSpace)
	}
	return r
}

// judgement is everything that is decided about a request before anyone is
// asked.
type judgement struct {
	command shell.Command
	verdict shell.Verdict
	plan    *sandbox.Plan
	hold    bool // what it writes to its layer is held
	// names is the profile by which protected names are checked after the run:
	// without widened, the protected paths that a yes lets this command change.
	names   profile.Profile
	widened []string
	// lost is the place of a worktree that commands can't create; "": there is none.
	lost string
	// opens are the grants that a yes may add; see opening.
	opens       []profile.Grant
	agentPreset string // of an agent's run; "": there is none
	given       bool   // the request has a profile that narrows the run
	// reach has the network's resources besides the plan; nil: none.
	reach *reaching
	// operator is the operator's ceiling, nil where there is none.
	operator *profile.Profile
	// trusted: the session's root is writable.
	trusted bool
	// trusts: a yes makes the session's root writable for sandboxes, as one of trustsOffered says.
	trusts        bool
	trustsOffered []approval.Trust
	fitting       []string // the presets that the first question proposes
	// contained: the policy of that name lets it run; uncontained is why it asks in spite of that policy.
	contained   bool
	uncontained string
	// absent: there is no such command, so that nobody is asked.
	absent bool
	// kind is how the run writes to the project; direct is why it has no layer.
	kind   RunKind
	direct string
	layer  *layeredRun
	// above are the runs whose held change sets the command sees, the lowest first; unseen is why it does not see
	// those of its session.
	above    []string
	unseen   string
	warnings []string
	// input is the digest of the standard input that came with the request, in
	// hexadecimal; "": none did.
	input  string
	digest string
	// payload is the recorded content of the call: the verdict's, as JSON.
	payload json.RawMessage
}

func (j *judgement) planDigest() string {
	if j.plan == nil {
		return ""
	}
	return j.plan.Digest()
}

// digestOf binds an answer to the request shown and to the command that will run.
func (j *judgement) digestOf() string {
	b, err := json.Marshal(struct {
		Line, Cwd string
		Argv      []string
		Env       map[string]string
		Payload   json.RawMessage
		Decision  shell.Decision
		Run       shell.Execution
		Plan      string
		Input     string   `json:",omitempty"`
		Contained bool     `json:",omitempty"`
		Opens     string   `json:",omitempty"`
		Above     []string `json:",omitempty"`
	}{j.command.Line, j.command.Cwd, j.command.Argv, j.command.Env, j.payload, j.verdict.Decision, j.verdict.Run,
		j.planDigest(), j.input, j.contained, opened(j.opens), j.above})
	if err != nil {
		panic(fmt.Sprintf("supervisor: a judgement can't be encoded: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
