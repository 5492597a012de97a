// Package hook answers the pre-tool hooks of other vendors' agents.
//
// An agent calls the hook before it runs a tool, passes the call as JSON on standard input, and
// reads a verdict from standard output. The promise: after any failure the answer is a refusal in
// the vendor's own form, never silence, because silence lets the tool run.
//
// # Modes
//
// Wrap, for shell commands: the command is judged, and allowed rewritten to `sbx run --ticket T`,
// so that it runs in the sandbox and a person is asked where that is needed. The ticket is good
// once, for this user, session, command and directory, for minutes. Decide, and every other tool:
// the daemon decides, a person is asked where its rules ask, and the agent runs the tool itself.
//
// # Vendors
//
// The answers of each vendor's hook are in [Claude] and [Codex], with the place of their
// publication. A rewritten command is answered only to versions that are known to honour it; to
// others, and to unknown ones, the answer is to ask (Claude Code) or to refuse (Codex, whose hooks
// can't ask).
//
// # Limitations
//
// Both vendors let the tool run where the hook itself can't be started, crashes or takes longer
// than its time. The hook answers before that; a hook cannot prevent the other cases.
// docs/integrations.md has the remedies.
package hook
