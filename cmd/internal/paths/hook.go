package paths

import "strings"

// ExitOwn is sbx's exit status for a failure of ours with this command line: 125, but
// where an agent's hook is to be answered 2, which is a refusal to every agent, while they
// let the call continue after any other (https://code.claude.com/docs/en/hooks,
// https://developers.openai.com/codex/hooks). It is known however wrong the line is.
func ExitOwn(args []string) int {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--user", args[i] == "--socket-dir", args[i] == "--state-dir", args[i] == "--config":
			i++ // its value
		case strings.HasPrefix(args[i], "-"):
		case args[i] == "hook" && (i+1 == len(args) || args[i+1] != "install" && args[i+1] != "ls"):
			return 2
		default:
			return 125
		}
	}
	return 125
}
