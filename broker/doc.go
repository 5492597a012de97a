// Package broker is the entrance of a whole system: it owns the sockets that every user connects
// to, and hands each connection over to the daemon of the user whom it concerns, which that user's
// own service manager starts.
//
// The promise: the broker runs as a user of its own without any capability, executes nothing and
// opens nothing of a user's, which Landlock holds it to ([Broker.Confine]), and reads from a
// connection only the name of the user that an approver means. It hands over the connection itself
// (SCM_RIGHTS, unix(7)), so the kernel's credentials of the peer reach the user's daemon unchanged,
// and the broker can neither forge them nor listen in. A broker that stops or is replaced ends no
// command.
//
// # Places
//
// Below /run/sandboxd/users there is one directory for each user, owned by that user and made by
// root, so that nobody can occupy another's place; it contains launcher.sock, on which the user's
// service manager listens and which accepts only the broker's user and root.
//
// # The head of each log
//
// Each user's daemon reports the last record of its audit log now and then. The broker stores them
// where that user cannot write: a log whose tail was cut, or that was rewritten, no longer holds
// against them. With a key, which the service manager reads for it (LoadCredential=), it signs
// them: a copy of the heads is worth the same in any place and from any bearer.
//
// # Limitations
//
// A user can report a head to the broker that its log never had. That makes the user's own log fail
// to verify, and shows; it hides nothing.
package broker

// Names of the sockets as the service manager passes them (sd_listen_fds(3),
// FileDescriptorName=).
const (
	AgentName    = "agent"
	ApproverName = "approver"
	HeadsName    = "heads"
	LauncherName = "launcher"
	MetricsName  = "metrics"
)

// Places of a system's installation.
const (
	UsersDir = "/run/sandboxd/users"     // one directory for each user
	HeadsDir = "/var/lib/sandboxd/heads" // one file for each user, by number
	// publicKey is the file beside the heads that checks their signatures.
	publicKey = "key.pub"
	// HeadsSocket is where daemons report the heads of their logs.
	HeadsSocket = "/run/sandboxd/heads.sock"
	// Account is the broker's user.
	Account = "sandboxd"
	// Approvers is the group whose members may answer for others.
	Approvers = "sandboxd-approvers"
)

// Requests in a message to a launcher.
const (
	wantAgent    = 'a' // serve the connection that comes with it as an agent's
	wantApprover = 'p' // the same as an approver's
	wantReload   = 'r' // read the configuration again; the answer is "ok" or why not
	wantStop     = 's' // stop as planned; the answer is "ok"
)
