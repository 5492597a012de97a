package ipc

// Role is the socket of a peer's connection. The routes of that socket define the peer's
// operations; the peer's own claims have no influence.
type Role string

const (
	RoleAgent    Role = "agent"    // came by agent.sock: may ask
	RoleApprover Role = "approver" // came by approver.sock: may answer
)

// Caller is the source of one request.
type Caller struct {
	Peer Peer
	Role Role
	// Front is the front end that the caller came by, "web" for the gateway's
	// own page; empty on the sockets. Peer then is whose behalf it acts on.
	Front string
	// Secret is the value of the request's "Authorization: Bearer" header: the secret that opening
	// an API session returned. Empty: none.
	Secret Secret
	// Confined is the refusal of everything but a ticket's command; nil: none. See [Confined].
	Confined *Error
}

// Confined is an error of [Backend.Admit]: the peer, of another sandbox, may bring a ticket and follow its command, and
// Refusal answers all its other requests. It can't pass descriptors.
type Confined struct{ Refusal *Error }

func (c *Confined) Error() string { return c.Refusal.Error() }

// byTicket are the operations that bring a ticket and follow its command.
var byTicket = []string{
	"version", "exec.start", "exec.run", "exec.events", "exec.stdin", "exec.signal", "exec.resize", "exec.cancel",
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
