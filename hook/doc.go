// Package hook answers the pre-tool hooks of agents that other people make.
//
// An agent calls the hook before it runs a tool, tells it of the call as JSON
// on standard input, and reads a verdict from standard output. The promise:
// whatever goes wrong, the answer is a refusal in the vendor's own form, never
// silence, because silence lets the tool run.
//
// # Modes
//
// Wrap, for shell commands: the command is judged, and allowed rewritten to
// `sbx run --ticket T`, so that it runs in the sandbox and a person is asked
// where that is needed. The ticket is good once, for this user, session, command
// and directory, for minutes. Decide, and every other tool: the daemon decides, a
// person is asked where its rules say so, and the agent runs the tool itself.
//
// # Vendors
//
// What a vendor's hook may answer is in [Claude] and [Codex], with the place
// where it is published. A rewritten command is answered only to versions that
// are known to honour it; to others, and to unknown ones, the answer is to
// ask (Claude Code) or to refuse (Codex, whose hooks can't ask).
//
// # Limitations
//
// Both vendors let the tool run where the hook itself can't be started, crashes
// or takes longer than its time. The hook answers before that; nothing can be done
// about the rest from inside a hook. docs/integrations.md says what can.
package hook
