package ipc

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
)

// startExec starts nothing twice for one idempotency key.
func startExec() handler {
	h := created(Backend.StartExec, completeExec)
	h.serve = func(x *exchange) {
		serveBody(x, startOnce(x), completeExec, x.limits.Body, http.StatusCreated)
	}
	return h
}

// runExec is startExec and the command's events in one exchange.
func runExec() handler {
	return opened(runOnce, completeExec, "application/x-ndjson", ndjson[Event])
}

// changeFile changes nothing twice for one idempotency key.
func changeFile() handler {
	h := large(Backend.File, completeFile)
	h.serve = func(x *exchange) { serveBody(x, changeOnce(x), completeFile, x.limits.FileBody, http.StatusOK) }
	return h
}

// completeExec takes the idempotency key from the header too.
func completeExec(x *exchange, r *ExecRequest) (bad *Error) {
	r.IdempotencyKey, bad = x.idempotencyKey(r.IdempotencyKey)
	if bad == nil && r.IdempotencyKey != "" && r.Open != nil {
		bad = badRequest("an idempotency key counts within a session: name one, in place of open")
	}
	return bad
}

// completeFile adds the operation from the path, and refuses members that only a batch's file calls
// have.
func completeFile(x *exchange, r *FileRequest) (bad *Error) {
	r.Op = x.r.PathValue("op")
	if !slices.Contains(fileOps, r.Op) {
		return &Error{Code: CodeNoRoute, Message: "there is no such file operation",
			Hint: "see docs/protocol.md for the list"}
	}
	switch approver := x.caller.Role == RoleApprover; {
	case approver && r.Op != "undo":
		return &Error{Code: CodeNoRoute, Message: "an approver may undo, and nothing else", Hint: "use agent.sock"}
	case approver && r.Session != "":
		return badRequest("an approver undoes without a session")
	case !approver && r.Session == "":
		return &Error{Code: CodeBadRequest, Message: "session is missing", Hint: "open one with POST /v1/sessions"}
	}
	r.IdempotencyKey, bad = x.idempotencyKey(r.IdempotencyKey)
	return bad
}

// idempotencyKey is the one of the body or of the header, which must agree.
func (x *exchange) idempotencyKey(given string) (string, *Error) {
	header := x.r.Header.Get("Idempotency-Key")
	switch {
	case header == "":
	case given == "":
		given = header
	case given != header:
		return "", badRequest("idempotency_key and the header Idempotency-Key differ")
	}
	if len(given) > 256 {
		return "", badRequest("the idempotency key is longer than 256 bytes")
	}
	return given, nil
}

func eventsRequest(q params) EventsRequest {
	return EventsRequest{ID: q.id(), FromSeq: q.number("from_seq"), Watch: q.flag("watch")}
}

// newsRequest takes Last-Event-ID, which a browser's EventSource sends by
// itself when it connects again, before ?after=, which then is older.
func newsRequest(q params) NewsRequest {
	r := NewsRequest{After: q.number("after")}
	if last := q.r.Header.Get("Last-Event-ID"); last != "" {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			q.fail("Last-Event-ID: want a number")
		}
		r.After = n
	}
	return r
}

// stdinPiece is how much of a command's input is handed on at a time.
const stdinPiece = 64 << 10

// stdin hands the raw body on piece by piece: the connection fills up when
// the command does not read, which is the client's back-pressure.
func stdin() handler {
	return handler{
		raw:   true,
		out:   reflect.TypeFor[Done](),
		read:  func(q params) { stdinRequest(q) },
		serve: serveStdin,
	}
}

func stdinRequest(q params) StdinRequest {
	return StdinRequest{ID: q.id(), EOF: q.flag("eof")}
}

func serveStdin(x *exchange) {
	req, bad := readQuery(x, stdinRequest)
	if bad == nil {
		bad = x.tally.buffer(x.caller.Peer, stdinPiece)
	}
	if bad != nil {
		x.refuse(bad)
		return
	}
	x.buffered += stdinPiece
	for {
		piece := make([]byte, stdinPiece) // the backend may keep it
		n, err := x.r.Body.Read(piece)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			x.refuse(badRequest("read body: " + err.Error()))
			return
		}
		if end := last && req.EOF; n > 0 || end {
			part := StdinRequest{ID: req.ID, Data: piece[:n:n], EOF: end}
			if err := x.backend.WriteStdin(x.r.Context(), x.caller, part); err != nil {
				x.refuse(x.asError(err))
				return
			}
		}
		if last {
			answer(x, http.StatusOK, Done{OK: true}, nil)
			return
		}
	}
}
