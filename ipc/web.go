package ipc

import (
	"regexp"
	"sync"
	"time"
)

// Invitation answers POST /v1/web/invitations: an address that lets one browser
// in, once.
type Invitation struct {
	URL     string    `json:"url"`     // with the secret, in its fragment
	Address string    `json:"address"` // without
	Expires time.Time `json:"expires"`
}

// Roles of a front end.
const (
	FrontEndApprover = "approver" // forwards its users' answers
	FrontEndWatcher  = "watcher"  // looks on
)

// FrontEnd is a program that may use the gateway on behalf of its users.
type FrontEnd struct {
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	UID     int       `json:"uid"` // for whose commands it answers
	Created time.Time `json:"created"`
	Token   Secret    `json:"token,omitempty"` // only in the answer that made it
}

// FrontEndList answers GET /v1/web/front_ends.
type FrontEndList struct {
	FrontEnds []FrontEnd `json:"front_ends"`
}

// FrontEndRequest is the body of POST /v1/web/front_ends.
type FrontEndRequest struct {
	Name string `json:"name"`
	Role string `json:"role,omitempty"` // empty: approver
}

// FrontEndName is DELETE /v1/web/front_ends/{id}.
type FrontEndName struct {
	Name string
}

var frontEndName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,31}$`) })

func (r FrontEndRequest) validate() *Error {
	if !frontEndName().MatchString(r.Name) || r.Name == "web" {
		return badRequest("name: want 1 to 32 of a-z, 0-9, '_', '.', '-', and not \"web\"")
	}
	if r.Role != "" && r.Role != FrontEndApprover && r.Role != FrontEndWatcher {
		return badRequest("role: want approver or watcher")
	}
	return nil
}
