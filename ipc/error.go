package ipc

import (
	"errors"
	"net/http"
)

// Error is the answer to a request that was not carried out. On the wire it is
// {"error":{"code":…,"message":…,"hint":…}} under a fitting status.
type Error struct {
	Code    Code   `json:"code"`           // stable: programs may depend on it
	Message string `json:"message"`        // for people; may change
	Hint    string `json:"hint,omitempty"` // the remedy
	Status  int    `json:"-"`              // HTTP status; 0: the code's own

	// Conflict says why a file operation could not be done.
	Conflict *FileConflict `json:"conflict,omitempty"`
}

// Error returns the message, followed by the remedy.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Is makes errors.Is(err, &Error{Code: c}) true for every Error of that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// CodeOf is the code of the [Error] in err's chain, or "" where there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Code names a failure. Codes are part of the protocol: new ones may appear,
// old ones keep their meaning.
type Code string

const (
	CodeBadRequest       Code = "bad_request"       // not JSON, not UTF-8, a key twice, a value out of range
	CodeUnknownField     Code = "unknown_field"     // in a decision, where every field counts
	CodeTooLarge         Code = "too_large"         // body, header or value above its limit
	CodeUnsupportedMedia Code = "unsupported_media" // a Content-Type that a web page could send unasked
	CodeNotFound         Code = "not_found"         // no such object, or not yours: the two are the same
	CodeNoRoute          Code = "no_route"          // no such path on this socket
	CodeMethod           Code = "method_not_allowed"
	CodeForbidden        Code = "forbidden"       // this peer may not do this
	CodeSelfApproval     Code = "self_approval"   // the requester, or a process inside a sandbox, cannot answer
	CodeSecret           Code = "secret_required" // the session's secret is missing or wrong
	CodeAlreadyDecided   Code = "already_decided" // somebody else was first
	CodeStale            Code = "stale"           // rev or hash is not that of the pending question: read it again
	CodeConfirm          Code = "confirm_required"
	CodeConflict         Code = "conflict"   // the object is in a state that does not allow this
	CodeStopped          Code = "stopped"    // a person stopped this session; a new turn clears it
	CodeBlocked          Code = "blocked"    // never allowed, in any mode
	CodeDenied           Code = "denied"     // a person or a rule said no
	CodeTimeout          Code = "timeout"    // no person answered
	CodeUntrusted        Code = "untrusted"  // needs a root that a person trusted
	CodeBadRoot          Code = "bad_root"   // a session root that is always refused
	CodeUnenforced       Code = "unenforced" // the profile cannot be enforced on this host
	CodeAudit            Code = "audit_unavailable"
	CodeLimit            Code = "limit_exceeded" // of this peer: connections, requests in flight, sessions, prompts
	CodeOverloaded       Code = "overloaded"     // of the daemon
	CodeShuttingDown     Code = "shutting_down"
	CodeInternal         Code = "internal"
)

// statuses gives each code its HTTP status.
var statuses = map[Code]int{
	CodeBadRequest:       http.StatusBadRequest,
	CodeUnknownField:     http.StatusBadRequest,
	CodeTooLarge:         http.StatusRequestEntityTooLarge,
	CodeUnsupportedMedia: http.StatusUnsupportedMediaType,
	CodeNotFound:         http.StatusNotFound,
	CodeNoRoute:          http.StatusNotFound,
	CodeMethod:           http.StatusMethodNotAllowed,
	CodeForbidden:        http.StatusForbidden,
	CodeSelfApproval:     http.StatusForbidden,
	CodeSecret:           http.StatusUnauthorized,
	CodeAlreadyDecided:   http.StatusConflict,
	CodeStale:            http.StatusConflict,
	CodeConfirm:          http.StatusConflict,
	CodeConflict:         http.StatusConflict,
	CodeStopped:          http.StatusConflict,
	CodeBlocked:          http.StatusForbidden,
	CodeDenied:           http.StatusForbidden,
	CodeTimeout:          http.StatusForbidden,
	CodeUntrusted:        http.StatusForbidden,
	CodeBadRoot:          http.StatusForbidden,
	CodeUnenforced:       http.StatusServiceUnavailable,
	CodeAudit:            http.StatusServiceUnavailable,
	CodeLimit:            http.StatusTooManyRequests,
	CodeOverloaded:       http.StatusServiceUnavailable,
	CodeShuttingDown:     http.StatusServiceUnavailable,
	CodeInternal:         http.StatusInternalServerError,
}

// HTTPStatus is the status that goes with the error: its own, its code's, or 500.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}
