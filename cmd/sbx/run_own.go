package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"sandboxd/ipc"
)

// own are those of our standard descriptors that the command may have as they
// are, so that its bytes pass through nobody; nil: relayed.
type own struct {
	in, out, errs *os.File
}

// passes returns the sets of descriptors to try, best first: all, no files, none. The
// daemon accepts a file only if the session's profile lets the command change it.
// Output pipes are relayed if a person may be asked at this terminal: their reader may
// write to it, too (`| tee`), and would disturb a question there. Relayed output waits
// until the question has left the screen. The output pipes of a session's command are
// relayed because the command may leave a job that would hold them open.
func (r *runner) passes() []own {
	if r.options.tty || r.options.json {
		return []own{{}}
	}
	relayed := r.tty != nil || r.options.session != "" || r.options.ticket != ""
	var all, pipes own
	for _, s := range []struct {
		file       *os.File
		all, pipes **os.File
		skip       bool
		stays      bool // as a pipe
	}{
		{r.stdin, &all.in, &pipes.in, r.input.reader == nil, false},
		{fileOf(r.stdout), &all.out, &pipes.out, false, relayed},
		{fileOf(r.errout), &all.errs, &pipes.errs, false, relayed},
	} {
		if s.file == nil || s.skip {
			continue
		}
		fi, err := s.file.Stat()
		if err != nil {
			continue
		}
		switch {
		case fi.Mode().Type() == fs.ModeNamedPipe && !s.stays, isNull(s.file):
			*s.all, *s.pipes = s.file, s.file
		case fi.Mode().IsRegular():
			*s.all = s.file
		}
	}
	list := []own{all}
	if pipes != all {
		list = append(list, pipes)
	}
	if pipes != (own{}) {
		list = append(list, own{})
	}
	return list
}

func fileOf(w io.Writer) *os.File {
	f, _ := beneath(w).(*os.File)
	return f
}

// request asks the daemon to run the command, with as many of our own
// descriptors as it permits, or continues the exchange that front began.
func (r *runner) request(ctx context.Context, env map[string]string) (started ipc.ExecStarted,
	events ipc.Stream[ipc.Event], err error) {
	if started, events, ok, err := r.resume(ctx); ok {
		return started, events, err
	}
	passes := r.passes()
	if r.refused && len(passes) > 1 {
		passes = passes[1:]
	}
	for _, o := range passes {
		q, err := r.described(env)
		if err != nil {
			return started, nil, err
		}
		q.Passed = o.stdio()
		if o.in != nil {
			q.Stdin = ipc.StdinNone
		}
		started, events, err = r.client.RunExec(ctx, q)
		if o != (own{}) && (ipc.CodeOf(err) == ipc.CodeForbidden || errors.Is(err, ipc.ErrNoDaemon)) {
			continue // not these, or a daemon that takes none
		}
		if err == nil && o.in != nil {
			r.input.reader = nil // it is the command's to read now
		}
		return started, events, err
	}
	return started, nil, err
}

// stdio returns the descriptors that are sent with the request.
func (o own) stdio() (s ipc.Stdio) {
	for _, one := range []struct {
		file *os.File
		to   **ipc.Passed
	}{{o.in, &s.In}, {o.out, &s.Out}, {o.errs, &s.Err}} {
		if one.file != nil {
			*one.to = &ipc.Passed{File: one.file}
		}
	}
	return s
}
