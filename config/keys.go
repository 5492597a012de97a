package config

// keys lists every setting, in the order in which it is shown. A test holds it
// against the structs: no setting is without a line here, and no line without
// a setting.
//
// words are given from the widest to the narrowest.
var keys = []key{
	{name: "daemon.idle_timeout", doc: "a daemon that sbx started leaves after that long without a request; 0 keeps it"},
	{name: "daemon.drain_timeout", doc: "how long a planned stop waits for running commands"},
	{name: "daemon.socket_dir", doc: "folder of the sockets; empty is the default place; for a daemon that sbx does not start"},
	{name: "daemon.state_dir", doc: "folder of audit log, grants, trash and undo; empty is the default place; for a daemon that sbx does not start"},
	{name: "daemon.roots", merge: grant, within: pathInList, doc: "folders trusted as project roots without asking"},
	{name: "daemon.user_daemons", merge: narrow, within: falseIsNarrower, doc: "whether sbx may start a daemon for its user"},
	{name: "daemon.own_approver", merge: narrow, within: falseIsNarrower, doc: "whether the user whose agents ask may answer them; false: only members of sandboxd-approvers, through the system's sockets"},
	{name: "daemon.requests", merge: narrow, within: fewer, doc: "requests in flight per peer"},
	{name: "daemon.sessions", merge: narrow, within: fewer, doc: "sessions per peer"},
	{name: "daemon.pending", merge: narrow, within: fewer, doc: "waiting prompts per peer"},
	{name: "daemon.message_size", merge: narrow, within: smaller, doc: "largest request body"},

	{name: "approval.mode", merge: narrow, words: []string{"interactive", "strict"}, doc: "interactive: ask; strict: deny what would ask"},
	{name: "approval.policy", merge: narrow, words: []string{"blacklist", "normal", "whitelist"}, doc: "normal; whitelist: only what is permitted; blacklist: all but what is listed"},
	{name: "approval.safe_commands_only", merge: narrow, within: trueIsNarrower, doc: "refuse every command that is not on the safe list"},
	{name: "approval.timeout", doc: "how long a question waits for a person at a terminal"},
	{name: "approval.timeout_remote", doc: "how long it waits where only remote approvers are connected"},
	{name: "approval.no_approver", merge: narrow, words: []string{"wait", "deny"}, doc: "with nobody to ask: wait for the timeout, or deny at once"},
	{name: "approval.inline", merge: narrow, within: falseIsNarrower, doc: "whether the person at the terminal of `sbx run` may answer there"},
	{name: "approval.client_answers", merge: narrow, within: falseIsNarrower, doc: "whether the client of `sbx mcp` may put a question of low risk to its user (elicitation); the answer holds once, and comes through the program that asks"},
	{name: "approval.rule_program", merge: narrow, within: theSame, doc: "absolute path of a program that judges every call, too: it reads one JSON object and writes {\"decision\": \"none\"|\"run\"|\"ask\"|\"block\", \"reason\": \"…\"} within 2 seconds; the strictest word counts, and a program that fails asks"},
	{name: "approval.show_stats", doc: "show counts at the end of a session"},
	{name: "approval.double_confirm_deletes", merge: narrow, within: trueIsNarrower, doc: "deletes need a second yes"},

	{name: "tools.unknown", merge: narrow, words: []string{"allow", "ask", "deny"}, doc: "tools that no rule names: allow, ask or deny"},
	{name: "tools.rules", merge: rules, project: true, doc: "rules for tools; of those that match the strictest decides"},

	{name: "files.paths.*.root", merge: grant, doc: "folder, absolute or relative to the project"},
	{name: "files.paths.*.mode", merge: grant, words: []string{"rw", "ro"}, project: true, doc: "ro or rw"},
	{name: "files.paths.*.suffixes", merge: grant, doc: "only these endings; empty: every name"},
	{name: "files.paths.*.write_approval", merge: grant, project: true, doc: "true: every change asks; false: changes but deletes run; absent: the table of operations"},
	{name: "files.paths.*.read_approval", merge: grant, project: true, doc: "true: every read asks"},
	{name: "files.auto_safe", merge: narrow, within: falseIsNarrower, doc: "safe paths are written without a question"},
	{name: "files.safe", merge: grant, within: inList, doc: "globs of safe paths"},
	{name: "files.protected", merge: restrict, project: true, doc: "names, at any depth, whose every change asks twice"},
	{name: "files.unprotected", merge: grant, within: inList, doc: "built-in protected names that are not protected"},
	{name: "files.hidden", merge: restrict, project: true, doc: "names, at any depth, that can be neither read nor written"},
	{name: "files.read_only", merge: restrict, project: true, doc: "names, at any depth, that cannot be changed"},
	{name: "files.hard_links", merge: narrow, words: []string{"read", "refuse"}, doc: "files with more than one name: refuse, or read only"},
	{name: "files.max_file", merge: narrow, within: smallerOrDefault, doc: "largest file that is read whole or changed, in bytes"},
	{name: "files.undo.keep_for", doc: "how long an operation can be undone; 0: for ever"},
	{name: "files.undo.keep_bytes", doc: "how much old content is kept, in bytes; 0: no bound"},

	{name: "shell.default.allowed", merge: narrow, within: falseIsNarrower, doc: "false: commands that nothing else decides are refused"},
	{name: "shell.default.approval", merge: narrow, within: trueIsNarrower, doc: "false: they run without a question"},
	{name: "shell.network", merge: narrow, words: networkModes, doc: "network of a command that no rule gives another: none, loopback, allowlist or full"},
	{name: "shell.auto_safe", merge: narrow, within: falseIsNarrower, doc: "commands of the safe list run without a question"},
	{name: "shell.safe_commands", merge: grant, within: inList, doc: "further safe commands"},
	{name: "shell.rules", merge: rules, project: true,
		doc: "rules for commands, first match decides; a pattern is a prefix, unless exact = true"},
	{name: "shell.search_path", merge: grant, within: inList, doc: "where the commands that run unasked are looked up"},
	{name: "permissions.allow", merge: rules, doc: "calls that run, such as \"Bash(git diff *)\""},
	{name: "permissions.ask", merge: restrict, project: true, doc: "calls that ask"},
	{name: "permissions.deny", merge: restrict, project: true, doc: "calls that are refused"},

	{name: "sandbox.require_os_sandbox", merge: narrow, within: requiresMore, doc: "true, false, or the protections that must be there"},
	{name: "sandbox.os_sandbox_fallback", merge: narrow, words: []string{"refuse_tools", "fail_fast"}, doc: "what happens where they are not: fail_fast or refuse_tools"},
	{name: "sandbox.read", merge: grant, within: pathInList, doc: "further paths that commands may read; a symbolic link stands for what it leads to, under whose name commands find it, and grants nothing where commands can change it"},
	{name: "sandbox.write", merge: grant, within: pathInList, doc: "further paths that commands may read and write; links as in read"},
	{name: "sandbox.hidden", merge: restrict, project: true, doc: "paths that commands cannot reach"},
	{name: "sandbox.read_only", merge: restrict, project: true, doc: "paths that commands cannot change"},
	{name: "sandbox.agent_socket", merge: narrow, within: falseIsNarrower, doc: "whether what is run as an agent (sbx run --agent) reaches the daemon's agent.sock, and so may ask for commands within its own sandbox's profile"},
	{name: "sandbox.warm", doc: "sandboxes that are laid before they are needed, at most; 0: none"},
	{name: "sandbox.limits.wall", merge: narrow, within: shorter, project: true, doc: "time a command may take"},
	{name: "sandbox.limits.cpu", merge: narrow, within: shorter, project: true, doc: "processor time"},
	{name: "sandbox.limits.memory", merge: narrow, within: smaller, project: true, doc: "memory of all its processes"},
	{name: "sandbox.limits.processes", merge: narrow, within: fewer, project: true, doc: "processes and threads"},
	{name: "sandbox.limits.open_files", merge: narrow, within: fewer, project: true, doc: "open files of one process"},
	{name: "sandbox.limits.file_size", merge: narrow, within: smaller, project: true, doc: "largest file"},
	{name: "sandbox.limits.output", merge: narrow, within: smaller, project: true, doc: "output that is kept, head and tail"},
	{name: "sandbox.limits.tmp", merge: narrow, within: smaller, project: true, doc: "size of its /tmp"},

	{name: "environment.pass", merge: grant, within: patternInList, doc: "variables that reach a command"},
	{name: "environment.set", merge: grant, doc: "variables with their values"},

	{name: "network.mode", merge: narrow, words: networkModes, project: true, doc: "none, loopback, allowlist or full"},
	{name: "network.allow", merge: grant, within: hostInList, project: true, doc: "hosts of the allowlist: \"name:port\", \"*.name\", an address"},
	{name: "network.presets", merge: grant, within: inList, project: true, doc: "hosts by preset: what fetching packages needs, such as \"go\""},
	{name: "network.deny", merge: restrict, project: true, doc: "hosts that are never reached, nor asked about"},
	{name: "network.ports", merge: grant, within: inList, project: true, doc: "ports that an entry without one stands for"},
	{name: "network.ask", merge: narrow, within: falseIsNarrower, project: true, doc: "false: a host that is not listed is refused, and nobody asked"},
	{name: "network.listen", merge: grant, within: inList, project: true, doc: "ports that a command may listen on"},
	{name: "network.host_ports", merge: grant, within: inList, project: true, doc: "ports of this machine's localhost that a command reaches on its own"},
	{name: "network.publish", merge: grant, within: inList, project: true, doc: "ports of the command's localhost that this machine's localhost reaches"},
	{name: "network.limits.connections", merge: narrow, within: fewer, project: true, doc: "connections at once"},
	{name: "network.limits.idle", merge: narrow, within: shorter, project: true, doc: "a connection on which nothing passes is ended"},
	{name: "network.limits.total", merge: narrow, within: shorter, project: true, doc: "time that a connection may take"},
	{name: "network.limits.bytes", merge: narrow, within: smaller, project: true, doc: "bytes that a command may send and receive"},

	{name: "audit.rotate_size", doc: "a new file is started at this size"},
	{name: "audit.keep", doc: "how many files are kept; 0: all"},
	{name: "audit.journal", doc: "mirror records to the system's journal"},
	{name: "audit.exclude_keys", merge: restrict, doc: "arguments that are not recorded"},

	{name: "presets.use", merge: grant, within: inList, doc: "presets that are on, such as \"go\""},

	{name: "gateway.listen", doc: "loopback address of the gateway; empty: none"},
	{name: "gateway.origins", merge: grant, within: inList, doc: "web origins that may use it"},
}

var networkModes = []string{"full", "allowlist", "loopback", "none"}
