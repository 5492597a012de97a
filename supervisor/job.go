package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/audit"
	"sandboxd/sandbox"
)

// Bounds of a session's jobs.
const (
	maxJobs      = 8 // that run
	maxEndedJobs = 8 // that are kept to be read
	maxJobTime   = 12 * time.Hour
	maxJobLog    = 128 << 10 // the newest bytes
	// settling is how long processes have that end right behind their command.
	settling = 50 * time.Millisecond
)

// Job has the processes that a command left running in its session's place. It keeps the command's sandbox and limits.
type Job struct {
	ID      string // of the command, with a prefix of its own
	Session *Session
	Command string
	Started time.Time

	s      *Supervisor
	proc   *sandbox.Process
	record audit.Record
	cancel context.CancelCauseFunc
	done   chan struct{}

	mu    sync.Mutex
	log   []byte
	cut   int64
	ended time.Time
	why   string
}

// jobPrefix is that of a job's id, in the place of an execution's.
const jobPrefix = "j-"

// Done is closed when nothing of the job runs.
func (b *Job) Done() <-chan struct{} { return b.done }

// State returns when and why the job ended; the zero time: it has not.
func (b *Job) State() (ended time.Time, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended, b.why
}

// Log returns the newest output, and how many bytes before it were dropped.
func (b *Job) Log() (log []byte, cut int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.log), b.cut
}

// Stop ends the job. by names the person or program that stops it.
func (b *Job) Stop(by string) { b.cancel(errors.New("stopped by " + by)) }

func (b *Job) write(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, data...)
	if over := len(b.log) - maxJobLog; over > 0 {
		b.log, b.cut = slices.Clone(b.log[over:]), b.cut+int64(over)
	}
}

// running has the resources that a command that has ended passes to its job.
type running struct {
	e     *Exec
	j     *judgement
	proc  *sandbox.Process
	st    *streams
	out   *proxySession
	check *afterCheck
}

// leave makes a job of the processes that a command left running, if there are any and the session takes one.
// Otherwise it returns nil, after the end of all of the command's processes.
func (s *Supervisor) leave(r running, result *Result) *Job {
	select {
	case <-r.proc.Left():
	default:
		return nil
	}
	select {
	case <-r.proc.Done():
		return nil
	case <-time.After(settling):
	}
	line, argv, _ := r.e.ShownRequest()
	if line == "" {
		line = strings.Join(argv, " ")
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	b := &Job{ID: jobPrefix + strings.TrimPrefix(r.e.ID, "x-"), Session: r.e.Session, Command: line, Started: time.Now(),
		s: s, proc: r.proc, record: recordOf(r.e, r.j), cancel: cancel, done: make(chan struct{})}
	b.record.Category, b.record.Operation, b.record.Reason = audit.Execution, "job", "left running by its command"
	err := s.takeJob(b)
	if err == nil {
		err = s.record(b.record)
	}
	if err != nil {
		result.JobRefused = err.Error()
		r.proc.End(sandbox.EndSession, 0)
		<-r.proc.Done()
		b.over(err.Error())
		cancel(nil)
		return nil
	}
	r.st.handOver(func(ev Event) { b.write(ev.Data) })
	result.Job = b.ID
	s.work.Go(func() {
		defer cancel(nil)
		b.follow(ctx, r)
	})
	return b
}

// await waits for the end of a command's processes, unless they become a job, and checks their changes.
func (s *Supervisor) await(ctx context.Context, r running, layered *layeredRun, result *Result) sandbox.Exit {
	if s.leave(r, result) != nil {
		s.tellRefusals(r.e, r.j, r.proc, result)
		r.check.takeOut(result)
		result.Code = r.proc.Ended().Code
		return r.proc.Ended()
	}
	exit := r.proc.Wait()
	select {
	case <-r.proc.Left():
		exit = r.proc.Ended()
	default:
	}
	if r.out != nil {
		result.Network, result.Violations = r.out.close()
	}
	r.proc.Sockets().Close()
	r.st.drain()
	s.tellRefusals(r.e, r.j, r.proc, result)
	result.Code, result.Exit = exit.Code, exit // landing may replace the code
	layered.land(ctx, r.e, r.check, result)
	if c := result.Changes; c != nil {
		c.Build = buildFiles(r.e.Session.Root, slices.Concat(c.Created, c.Modified))
	}
	return exit
}

// takeJob registers a job in its session, or returns why there is no room.
func (s *Supervisor) takeJob(b *Job) error {
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	sess := b.Session
	sess.mu.Lock()
	defer sess.mu.Unlock()
	var ended []*Job
	for _, o := range sess.jobs {
		if at, _ := o.State(); !at.IsZero() {
			ended = append(ended, o)
		}
	}
	switch {
	case sess.closed || closing:
		return errors.New("the session is closed")
	case len(sess.jobs)-len(ended) >= maxJobs:
		return fmt.Errorf("the session has %d jobs (end one: sbx jobs stop ID)", maxJobs)
	}
	if len(ended) >= maxEndedJobs {
		sess.jobs = slices.DeleteFunc(sess.jobs, func(o *Job) bool { return o == ended[0] })
	}
	sess.jobs = append(sess.jobs, b)
	return nil
}

// follow waits for the job's end, and does the work that the command's end left to it.
func (b *Job) follow(ctx context.Context, r running) {
	limit := time.NewTimer(maxJobTime)
	defer limit.Stop()
	why := "its last process ended"
	select {
	case <-r.proc.Done():
	case <-limit.C:
		r.proc.End(sandbox.EndWall, 0)
		why = fmt.Sprintf("it ran for %v, the most that a job may", maxJobTime)
	case <-ctx.Done():
		r.proc.End(sandbox.EndCancelled, 0)
		why = context.Cause(ctx).Error()
	}
	if exit := r.proc.Wait(); why == "its last process ended" && exit.Cause != "" {
		why = endMessage(exit)
	}
	if r.proc.Wait().Cause == sandbox.EndTmp {
		b.Session.place.empty()
	}
	if r.out != nil {
		r.out.close()
	}
	r.proc.Sockets().Close()
	r.st.drain()
	r.st.close()
	if n := r.check.again(); n > 0 {
		why += fmt.Sprintf("; %d protected names that it left were moved to the trash (sbx log)", n)
	}
	b.record.Operation, b.record.Reason, b.record.DurationMS = "job end", why, time.Since(b.Started).Milliseconds()
	if err := b.s.recordEnd(b.record); err != nil {
		why += "; its end is not on record yet: " + err.Error()
	}
	b.over(why)
}

func (b *Job) over(why string) {
	b.mu.Lock()
	b.ended, b.why = time.Now(), why
	b.mu.Unlock()
	close(b.done)
}

// Jobs lists the session's jobs, oldest first; some have ended.
func (sess *Session) Jobs() []*Job {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return slices.Clone(sess.jobs)
}

// anyJob reports whether a job of the session runs.
func (sess *Session) anyJob() bool {
	return slices.ContainsFunc(sess.Jobs(), func(b *Job) bool { at, _ := b.State(); return at.IsZero() })
}

// endJobs ends the session's jobs and waits for their ends.
func (sess *Session) endJobs(why string) {
	list := sess.Jobs()
	for _, b := range list {
		b.cancel(errors.New(why))
	}
	for _, b := range list {
		<-b.done
	}
}

// handOverTries bounds how long output counts as the command's that another process writes without a pause.
const handOverTries = 200

// handOver sends the output that is written from now on to another function, after the output that the command wrote
// before its end.
func (st *streams) handOver(to func(Event)) {
	st.kept = true
	for try := 0; ; try++ {
		st.mu.Lock()
		if try == handOverTries || st.empty() {
			st.to = to
			st.mu.Unlock()
			return
		}
		st.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// empty reports whether no output waits; mu is held.
func (st *streams) empty() bool {
	for _, src := range st.out {
		c, err := src.file.SyscallConn()
		if err != nil {
			continue
		}
		waits := false
		c.Control(func(fd uintptr) {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			waits = n > 0 && err == nil
		})
		if waits {
			return false
		}
	}
	return true
}
