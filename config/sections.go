package config

import (
	"time"

	"sandboxd/profile"
)

// Daemon is the section [daemon].
type Daemon struct {
	// IdleTimeout: a daemon that sbx started leaves when nothing was asked of
	// it for that long. 0 keeps it.
	IdleTimeout Duration `toml:"idle_timeout"`
	// DrainTimeout is how long a planned stop waits for running commands.
	DrainTimeout Duration `toml:"drain_timeout"`
	// SocketDir and StateDir are absolute; empty means the default place
	// (DESIGN §8 and §11).
	SocketDir string `toml:"socket_dir"`
	StateDir  string `toml:"state_dir"`
	// Roots are folders that are trusted as project roots without a person's
	// answer (R-IP-07).
	Roots []string `toml:"roots"`
	// UserDaemons lets sbx start a daemon for its user (R-IP-09).
	UserDaemons bool `toml:"user_daemons"`
	// OwnApprover lets the user whose agents ask answer them; without it only
	// members of the group sandboxd-approvers can, through the system's sockets.
	OwnApprover bool `toml:"own_approver"`
	// Requests is how many requests one peer may have in flight, Sessions how
	// many sessions it may hold, Pending how many prompts it may have waiting.
	Requests int `toml:"requests"`
	Sessions int `toml:"sessions"`
	Pending  int `toml:"pending"`
	// MessageSize bounds one request's body.
	MessageSize Size `toml:"message_size"`
}

// Tools is the section [tools]: calls of tools that are neither the shell nor
// the file tool.
type Tools struct {
	// Unknown is what happens to a tool that no rule names: "ask", "deny" or
	// "allow" (R-AP-24).
	Unknown string     `toml:"unknown"`
	Rules   []ToolRule `toml:"rules"`
}

// ToolRule is one [[tools.rules]].
type ToolRule struct {
	// Tool is the tool's name; "*" at its end stands for any ending, such as
	// "mcp__github__*".
	Tool string `toml:"tool"`
	// When are globs that the named arguments must match.
	When map[string]string `toml:"when"`
	// Decision is "allow", "ask" or "deny".
	Decision    string `toml:"decision"`
	Description string `toml:"description"`
	Origin      Origin `toml:"-"`
}

// Sandbox is the section [sandbox]: what the operating system enforces.
type Sandbox struct {
	// RequireOSSandbox and OSSandboxFallback: R-OS-05.
	RequireOSSandbox  Require `toml:"require_os_sandbox"`
	OSSandboxFallback string  `toml:"os_sandbox_fallback"`
	// Read and Write are further paths that commands may read, or read and
	// write: absolute, or "~/…", or relative to the project.
	Read  []string `toml:"read"`
	Write []string `toml:"write"`
	// Hidden are paths that commands cannot reach at all, ReadOnly ones that
	// they cannot change; absolute, "~/…", or relative to the project. A name
	// without a slash is meant at any depth of the project.
	Hidden   []string `toml:"hidden"`
	ReadOnly []string `toml:"read_only"`
	// AgentSocket lets a command that is run as an agent (`sbx run --agent`) reach
	// agent.sock. What it asks for there runs within its own sandbox's profile (R-IP-08).
	AgentSocket bool `toml:"agent_socket"`
	// Backend is auto, native or bwrap.
	Backend string `toml:"backend"`
	// Warm bounds how many sandboxes are laid before they are needed; 0 is none.
	Warm   int    `toml:"warm"`
	Limits Limits `toml:"limits"`
}

// Limits is [sandbox.limits] (R-OS-10); 0 is no limit.
type Limits struct {
	Wall      Duration `toml:"wall"`
	CPU       Duration `toml:"cpu"`
	Memory    Size     `toml:"memory"`
	Processes int      `toml:"processes"`
	OpenFiles int      `toml:"open_files"`
	FileSize  Size     `toml:"file_size"`
	Output    Size     `toml:"output"`
	Tmp       Size     `toml:"tmp"`
}

// Environment is the section [environment] (R-OS-08).
type Environment struct {
	// Pass are names of variables that reach a command, a "*" at the end
	// standing for any ending. What looks like a secret is dropped unless it
	// is named in full.
	Pass []string `toml:"pass"`
	// Set are variables with their values.
	Set map[string]string `toml:"set"`
}

// Network is the section [network] (R-OS-09).
type Network struct {
	// Mode is "none", "loopback", "allowlist" or "full".
	Mode string `toml:"mode"`
	// Allow are the hosts of "allowlist": "name:port", "*.name:port" for what is
	// below a name, or an address. Without a port an entry stands for Ports.
	// Private and local addresses are reached only where they are named as such.
	Allow []string `toml:"allow"`
	// Presets add the hosts of presets by name (document.Preset).
	Presets []string `toml:"presets"`
	// Deny are hosts that are refused without a question, whatever allows them;
	// without a port an entry is about every one.
	Deny  []string `toml:"deny"`
	Ports []int    `toml:"ports"`
	// Ask: a connection to a host that is not listed waits for a person.
	Ask bool `toml:"ask"`
	// Listen are ports that a command may listen on.
	Listen []int `toml:"listen"`
	// HostPorts are TCP ports of this machine's localhost that are to be found
	// on the command's own, Publish the other way round. Both need mode
	// "loopback" or "allowlist".
	HostPorts []int         `toml:"host_ports"`
	Publish   []int         `toml:"publish"`
	Limits    NetworkLimits `toml:"limits"`
}

// NetworkLimits is [network.limits], for one command; 0 is no limit.
type NetworkLimits struct {
	Connections int      `toml:"connections"`
	Idle        Duration `toml:"idle"`
	Total       Duration `toml:"total"`
	Bytes       Size     `toml:"bytes"`
}

func defaultNetwork() Network {
	return Network{Mode: "none", Ports: []int{80, 443}, Ask: true,
		Limits: NetworkLimits{Connections: 1024, Idle: Duration(10 * time.Minute)}}
}

// Audit is the section [audit].
type Audit struct {
	// RotateSize starts a new file when one has grown to it; Keep is how many
	// are kept, 0 all.
	RotateSize Size `toml:"rotate_size"`
	Keep       int  `toml:"keep"`
	// Journal mirrors records to the system's journal.
	Journal bool `toml:"journal"`
	// ExcludeKeys are argument names whose values appear in no record.
	ExcludeKeys []string `toml:"exclude_keys"`
}

// Presets is the section [presets]: reviewed rules that are switched on by name.
type Presets struct {
	Use []string `toml:"use"`
}

// Gateway is the section [gateway]: the API on loopback TCP.
type Gateway struct {
	// Listen is "127.0.0.1:PORT" or "[::1]:PORT"; empty means no gateway.
	Listen string `toml:"listen"`
	// Origins are the web origins that may talk to it besides its own.
	Origins []string `toml:"origins"`
}

func defaultDaemon() Daemon {
	return Daemon{
		IdleTimeout:  Duration(15 * time.Minute),
		DrainTimeout: Duration(10 * time.Second),
		UserDaemons:  true,
		OwnApprover:  true,
		Requests:     64,
		Sessions:     64,
		Pending:      32,
		MessageSize:  16 << 20,
	}
}

func defaultSandbox() Sandbox {
	limits := profile.DefaultLimits()
	limits.Output = 10 << 20 // head and tail of what a command says
	return Sandbox{
		RequireOSSandbox:  Require{All: true},
		OSSandboxFallback: "fail_fast",
		AgentSocket:       true,
		Backend:           "auto",
		Warm:              4,
		Limits:            limitsOf(limits),
	}
}

func defaultEnvironment() Environment {
	return Environment{Pass: []string{"LANG", "LC_*", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "CI"}}
}
