// Package broker is the door of a whole system: it owns the sockets that every
// user connects to, and hands each connection over to the daemon of the user
// whom it concerns, which that user's own service manager starts.
//
// The promise: the broker runs as a user of its own without any capability,
// forks nothing, opens nothing of a user's, and reads from a connection nothing
// but the name of the user that an approver means. It hands over the connection
// itself (SCM_RIGHTS, unix(7)), so what the kernel says of the peer reaches the
// user's daemon unchanged, and the broker can neither forge it nor listen in. A
// broker that stops or is replaced ends no command.
//
// # Places
//
// Below /run/sandboxd/users there is one directory for each user, owned by
// that user and made by root, so that nobody can take another's place; in it
// lies launcher.sock, on which the user's service manager listens and which
// accepts only the broker's user and root.
//
// # The head of each log
//
// Each user's daemon tells the broker the last record of its audit log now and
// then. The broker keeps them where that user cannot write: a log whose tail was
// cut, or that was written anew, no longer holds against them. With a key, which
// the service manager reads for it (LoadCredential=), it signs what it keeps: a copy
// of the heads is worth the same wherever it lies, and whoever hands it on.
//
// # Limitations
//
// A user can tell the broker a head that its log never had. That makes the
// user's own log fail to verify, and shows; it hides nothing.
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
	// PublicKey is the file beside the heads that checks their signatures.
	PublicKey = "key.pub"
	// HeadsSocket is where daemons tell the heads of their logs.
	HeadsSocket = "/run/sandboxd/heads.sock"
	// Account is the broker's user.
	Account = "sandboxd"
	// Approvers is the group whose members may answer for others.
	Approvers = "sandboxd-approvers"
)

// What a message to a launcher asks for.
const (
	wantAgent    = 'a' // serve the connection that comes with it as an agent's
	wantApprover = 'p' // the same as an approver's
	wantReload   = 'r' // read the configuration again; the answer is "ok" or why not
	wantStop     = 's' // stop as planned; the answer is "ok"
)
