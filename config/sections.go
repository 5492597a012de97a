package config

import (
	"fmt"
	"time"

	"sandboxd/profile"
)

// Daemon is the section [daemon].
type Daemon struct {
	// IdleTimeout is the time without requests after which a daemon that sbx started exits. 0
	// means never.
	IdleTimeout Duration `toml:"idle_timeout"`
	// DrainTimeout is how long a planned stop waits for running commands.
	DrainTimeout Duration `toml:"drain_timeout"`
	// SocketDir and StateDir are absolute; empty means the default location (DESIGN §8 and §11).
	SocketDir string `toml:"socket_dir"`
	StateDir  string `toml:"state_dir"`
	// Roots are folders that are trusted as project roots without a person's answer (R-IP-07).
	Roots []string `toml:"roots"`
	// UserDaemons lets sbx start a daemon for its user (R-IP-09).
	UserDaemons bool `toml:"user_daemons"`
	// OwnApprover lets the user whose agents ask answer them. If it is false, only members of the
	// group sandboxd-approvers can answer, through the system's sockets.
	OwnApprover bool `toml:"own_approver"`
	// Requests is the maximum number of requests in flight per peer, Sessions of its sessions,
	// Pending of its waiting prompts.
	Requests int `toml:"requests"`
	Sessions int `toml:"sessions"`
	Pending  int `toml:"pending"`
	// MessageSize is the maximum size of one request's body.
	MessageSize Size `toml:"message_size"`
}

// Tools is the section [tools]: calls of tools other than the shell and the file tool.
type Tools struct {
	// Unknown is the decision for a tool that no rule names: "ask", "deny" or "allow" (R-AP-24).
	Unknown string     `toml:"unknown"`
	Rules   []ToolRule `toml:"rules"`
}

// ToolRule is one [[tools.rules]].
type ToolRule struct {
	// Tool is the tool's name. A "*" at its end matches any ending, such as "mcp__github__*".
	Tool string `toml:"tool"`
	// When maps arguments to globs that they must match.
	When map[string]string `toml:"when"`
	// Decision is "allow", "ask" or "deny".
	Decision    string `toml:"decision"`
	Description string `toml:"description"`
	Origin      Origin `toml:"-"`
}

// Landing is the section [landing]: the bounds of a landing that asks nobody.
type Landing struct {
	// Deletes is how many files of the project a command deletes without a question at the landing.
	Deletes int `toml:"deletes"`
}

func (l Landing) validate() error {
	if l.Deletes < 0 {
		return fmt.Errorf("landing.deletes %q: must not be negative", fmt.Sprint(l.Deletes))
	}
	return nil
}

// Sandbox is the section [sandbox]: the restrictions that the operating system enforces.
type Sandbox struct {
	// RequireOSSandbox and OSSandboxFallback: R-OS-05.
	RequireOSSandbox  Require `toml:"require_os_sandbox"`
	OSSandboxFallback string  `toml:"os_sandbox_fallback"`
	// Read, Write and Exec are further paths that commands may read, read and write, or read and
	// execute: absolute, "~/…", or relative to the project.
	Read  []string `toml:"read"`
	Write []string `toml:"write"`
	Exec  []string `toml:"exec"`
	// Hidden are paths that commands cannot reach at all. ReadOnly are paths that they cannot
	// change. Both are absolute, "~/…", or relative to the project. A name without a slash applies
	// at any depth of the project.
	Hidden   []string `toml:"hidden"`
	ReadOnly []string `toml:"read_only"`
	// AgentSocket lets a command that runs as an agent (`sbx run --agent`) reach agent.sock. Its
	// requests there run within its own sandbox's profile (R-IP-08).
	AgentSocket bool `toml:"agent_socket"`
	// Backend makes a sandbox's namespaces and mounts: "bwrap", "native" or "auto", which is native where the host
	// permits it, else bwrap.
	Backend string `toml:"backend"`
	// Layers is "auto", with which a run that writes to the project has a layer where the back end makes one, or "off".
	Layers string `toml:"layers"`
	// Land is "land", or "hold", with which what a command writes to its layer lands only by a request of its own.
	Land string `toml:"land"`
	// Warm is the maximum number of sandboxes that are created before they are needed; 0 means
	// none.
	Warm int `toml:"warm"`
	// Cache is the size of a project's caches of presets' tools from which on they are emptied; 0 means no limit.
	Cache  Size   `toml:"cache"`
	Limits Limits `toml:"limits"`
}

// Limits is [sandbox.limits] (R-OS-10); 0 means no limit.
type Limits struct {
	Wall Duration `toml:"wall"`
	// AgentWall replaces Wall for an agent (`sbx run --agent`).
	AgentWall Duration `toml:"agent_wall"`
	CPU       Duration `toml:"cpu"`
	Memory    Size     `toml:"memory"`
	Processes int      `toml:"processes"`
	OpenFiles int      `toml:"open_files"`
	FileSize  Size     `toml:"file_size"`
	Output    Size     `toml:"output"`
	Tmp       Size     `toml:"tmp"`
	Layer     Size     `toml:"layer"`
}

// Environment is the section [environment] (R-OS-08).
type Environment struct {
	// Pass are names of variables that reach a command. A "*" at the end matches any ending. A
	// variable that looks like a secret is dropped unless its full name is listed.
	Pass []string `toml:"pass"`
	// Set are variables with their values.
	Set map[string]string `toml:"set"`
}

// Network is the section [network] (R-OS-09).
type Network struct {
	// Mode is "none", "loopback", "allowlist" or "full". The built-in "loopback" applies to trusted
	// projects on hosts with network namespaces; elsewhere it means "none".
	Mode string `toml:"mode"`
	// Allow are the hosts of "allowlist": "name:port", "*.name:port" for the names below a name,
	// or an address. An entry without a port applies to Ports. Private and local addresses are
	// reachable only if an entry names them.
	Allow []string `toml:"allow"`
	// Presets add the hosts of presets by name (document.Preset).
	Presets []string `toml:"presets"`
	// Deny are hosts that are refused without a question, even if another entry allows them. An
	// entry without a port applies to every port.
	Deny  []string `toml:"deny"`
	Ports []int    `toml:"ports"`
	// Ask, if true, makes a connection to an unlisted host wait for a person's answer.
	Ask bool `toml:"ask"`
	// Listen are ports that a command may listen on.
	Listen []int `toml:"listen"`
	// HostPorts are TCP ports of this machine's localhost that are reachable on the command's own
	// localhost, Publish the reverse. Both need mode "loopback" or "allowlist".
	HostPorts []int         `toml:"host_ports"`
	Publish   []int         `toml:"publish"`
	Limits    NetworkLimits `toml:"limits"`
}

// NetworkLimits is [network.limits], for one command; 0 means no limit.
type NetworkLimits struct {
	Connections int      `toml:"connections"`
	Idle        Duration `toml:"idle"`
	Total       Duration `toml:"total"`
	Bytes       Size     `toml:"bytes"`
}

func defaultNetwork() Network {
	return Network{Mode: "loopback", Ports: []int{80, 443}, Ask: true,
		Limits: NetworkLimits{Connections: 1024, Idle: Duration(10 * time.Minute)}}
}

// Audit is the section [audit].
type Audit struct {
	// RotateSize is the size at which a new file is started. Keep is the number of files that are
	// kept; 0 means all.
	RotateSize Size `toml:"rotate_size"`
	Keep       int  `toml:"keep"`
	// Journal mirrors records to the system's journal.
	Journal bool `toml:"journal"`
	// ExcludeKeys are argument names whose values are never recorded.
	ExcludeKeys []string `toml:"exclude_keys"`
}

// Presets is the section [presets]: reviewed rules that are enabled by name.
type Presets struct {
	Use []string `toml:"use"`
}

// Gateway is the section [gateway]: the API on loopback TCP.
type Gateway struct {
	// Listen is "127.0.0.1:PORT" or "[::1]:PORT"; empty means no gateway.
	Listen string `toml:"listen"`
	// Origins are further web origins that may access the gateway.
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

// defaultBackend is a variable for the linker: acceptance tests run the programs with each back end.
var defaultBackend = "auto"

func defaultSandbox() Sandbox {
	limits := profile.DefaultLimits()
	limits.Output = 10 << 20 // head and tail of a command's output
	return Sandbox{
		RequireOSSandbox:  Require{All: true},
		OSSandboxFallback: "fail_fast",
		AgentSocket:       true,
		Backend:           defaultBackend,
		Layers:            "auto",
		Land:              "land",
		Warm:              4,
		Cache:             8 << 30,
		Limits:            limitsOf(limits),
	}
}

func defaultEnvironment() Environment {
	return Environment{Pass: []string{"LANG", "LC_*", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "CI"}}
}
