package ipc

// Role says which socket a peer came by. What it may do there is settled by
// the routes of that socket, not by anything that the peer says.
type Role string

const (
	RoleAgent    Role = "agent"    // came by agent.sock: may ask
	RoleApprover Role = "approver" // came by approver.sock: may answer
)

// Caller is who makes one request.
type Caller struct {
	Peer Peer
	Role Role
	// Front is the front end that the caller came by, "web" for the gateway's
	// own page; empty on the sockets. Peer then is whose behalf it acts on.
	Front string
	// Secret is what the request's "Authorization: Bearer" header carried:
	// the secret that opening an API session returned. Empty: none.
	Secret Secret
}

// Secret is a session's secret. It prints as "[secret]" or "" so that it
// reaches no log by accident; string(s) is its value.
type Secret string

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString hides the value from %#v too.
func (s Secret) GoString() string { return s.String() }
