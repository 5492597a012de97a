package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/hook"
	"sandboxd/mcp/servers"
)

// The directories of files, as manual pages have them.
const (
	stateHome   = "~/.local/state/sandboxd"
	socketHome  = "$XDG_RUNTIME_DIR/sandboxd"
	configHome  = "~/.config/sandboxd"
	operatorDir = "/etc/sandboxd"
)

// files are the files and directories that verbs read or write, or have the daemon read or write, each with its text.
// FILES of sbx(1) and of the verbs' pages have these rows.
var files = map[string][]string{
	"config":    {configHome + "/config.toml", "your configuration, sandboxd.toml(5)"},
	"project":   {"PROJECT/.sandboxd.toml", "a project's: it may narrow, and ask for what you then allow"},
	"operator":  {operatorDir + "/config.toml", "the operator's, which bounds both"},
	"ceilings":  {operatorDir + "/profile.d", "the operator's profiles, sandboxd-profile(5)"},
	"state":     {stateHome, "records, undo, trash"},
	"sockets":   {socketHome, "sockets"},
	"agent":     {socketHome + "/agent.sock", "socket of requesters"},
	"approver":  {socketHome + "/approver.sock", "socket of approvers"},
	"log":       {stateHome + "/audit", "the log"},
	"grants":    {stateHome + "/grants.json", "grants that outlive the daemon"},
	"settings":  {stateHome + "/settings.json", "what sbx allow and sbx config set for single projects"},
	"trust":     {stateHome + "/trust.json", "trusted directories"},
	"undo":      {stateHome + "/undo", "contents from before each change"},
	"snapshots": {stateHome + "/snapshots", "snapshots of projects, taken before commands"},
	"trash":     {stateHome + "/trash", "deleted files, and what runs left under protected names"},
	"held":      {stateHome + "/layers", "writes of commands until they land, and held change sets"},
	"frontends": {stateHome + "/front-ends.json", "chat front ends; of a token only its hash"},
	"page":      {stateHome + "/" + leadingPage, "page that leads the browser to the one-time address"},
	"heads":     {headsDir + "/UID", "heads of a user's log, kept by a server's broker"},
	"headskey":  {headsDir + "/key.pub", "public key of the broker"},
	"servers":   {configHome + "/servers/NAME.toml", "profile that --profile NAME refers to, sandboxd-profile(5)"},
	"worktree":  {"PROJECT/" + worktrees + "/NAME", "work tree of --worktree NAME"},
	"bash":      {"/usr/share/bash-completion/completions/sbx", "completions that the package installs"},
	"zsh":       {"/usr/share/zsh/vendor-completions/_sbx", "completions that the package installs"},
	"fish":      {"/usr/share/fish/vendor_completions.d/sbx.fish", "completions that the package installs"},
}

// filesOf are the files of each verb, by its path. A verb that has none has an empty row.
var filesOf = map[string]string{
	"run":             "agent|approver|config|project|operator|ceilings|worktree",
	"shell":           "agent|approver|config|project|operator|ceilings",
	"file read":       fileFiles,
	"file ls":         fileFiles,
	"file stat":       fileFiles,
	"file grep":       fileFiles,
	"file write":      changeFiles,
	"file edit":       changeFiles,
	"file append":     changeFiles,
	"file insert":     changeFiles,
	"file delete":     changeFiles + "|trash",
	"file move":       changeFiles,
	"file copy":       changeFiles,
	"file mkdir":      changeFiles,
	"file rmdir":      changeFiles + "|trash",
	"undo":            "agent|approver|undo|snapshots|trash",
	"check":           "agent|config|project|operator|ceilings",
	"approve":         "approver|grants|trust",
	"pending":         "approver",
	"changes":         "agent|held",
	"changes show":    "agent|held",
	"changes land":    "agent|approver|held|undo",
	"changes drop":    "agent|approver|held",
	"grants ls":       "approver|grants",
	"grants rm":       "approver|grants",
	"grants why":      "approver|grants",
	"mode":            "approver",
	"trust":           "approver|trust",
	"session ls":      "approver",
	"session open":    "agent",
	"session resume":  "agent|approver",
	"session close":   "agent|approver",
	"jobs":            "approver",
	"jobs log":        "approver",
	"jobs stop":       "approver",
	"profile show":    profileFiles,
	"profile explain": profileFiles,
	"profile diff":    profileFiles,
	"web":             "approver|page",
	"web add":         "approver|frontends",
	"web ls":          "approver|frontends",
	"web rm":          "approver|frontends",
	"log":             "approver|log",
	"log verify":      "log|heads|headskey",
	"log anchor":      "log",
	"log export":      "approver|log",
	"stats":           "approver|log",
	"advise":          "approver|log|config|trust",
	"status":          "approver|state|sockets|config|project|operator",
	"doctor":          "approver|hooks",
	"mcp":             "agent|approver",
	"mcp wrap":        "agent|servers|mcpservers",
	"acp":             "agent|approver",
	"hook claude":     "agent",
	"hook codex":      "agent",
	"hook copilot":    "agent",
	"hook gemini":     "agent",
	"hook opencode":   "agent",
	"hook pi":         "agent",
	"hook qwen":       "agent",
	"hook cline":      "agent",
	"hook cursor":     "agent",
	"hook vscode":     "agent",
	"hook auto":       "agent",
	"hook install":    "hooks",
	"hook ls":         "hooks",
	"rules import":    "agents",
	"preset ls":       "approver|config",
	"preset add":      "approver|config",
	"preset rm":       "approver|config",
	"allow":           "approver|config|settings",
	"config get":      "approver|config",
	"config set":      "approver|config|settings",
	"config unset":    "approver|config|settings",
	"config check":    configFiles,
	"config show":     configFiles,
	"config schema":   "",
	"config reload":   "approver|" + configFiles,
	"completion bash": "bash",
	"completion fish": "fish",
	"completion zsh":  "zsh",
	"stop":            "sockets",
	"version":         "approver",
	"gen man":         "",
}

const (
	fileFiles    = "agent|approver"
	changeFiles  = fileFiles + "|undo"
	profileFiles = "approver|config|project|operator|ceilings"
	configFiles  = "config|project|operator|ceilings"
)

// filesUsed are the files of c, each with its text; of sbx those of most verbs.
func filesUsed(c *cobra.Command) (rows [][]string) {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	names := filesOf[path]
	if !c.HasParent() {
		names = "config|project|operator|state|sockets"
	}
	for name := range strings.SplitSeq(names, "|") {
		switch name {
		case "":
		case "hooks":
			for _, v := range hook.Vendors {
				rows = append(rows, settingsRows("hooks of "+v.Title, v.Files[0], cmp.Or(v.UserFile, v.Files[0]))...)
			}
		case "mcpservers":
			for _, client := range servers.Clients {
				rows = append(rows, settingsRows("servers of "+client.Name, client.Project, client.User)...)
			}
		case "agents":
			for _, v := range vendorFiles {
				rows = append(rows, settingsRows("settings of "+v.vendor, v.file, v.file)...)
			}
		default:
			rows = append(rows, files[name])
		}
	}
	return rows
}

// settingsRows are another program's files in a project and in the home directory.
func settingsRows(text, project, home string) [][]string {
	return [][]string{{"PROJECT/" + project, text}, {"~/" + home, text}}
}
