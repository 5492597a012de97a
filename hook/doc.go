// Package hook answers the hooks of other vendors' agents.
//
// An agent calls the hook before it runs a tool, passes the call as JSON on standard input, and
// reads a verdict from standard output. The promise: after any failure the answer is a refusal,
// never silence, because silence lets the tool run. A hook after the tool reports whether the
// command ran in its sandbox, and a hook at the end of a conversation closes its session.
//
// # Modes
//
// Wrap, for shell commands: the command is judged, a person is asked where that is needed, and it
// is allowed rewritten to `sbx run --ticket T`, so that it runs in the sandbox. The ticket is good
// once, for this user, session, command and directory, for minutes. Decide, and every other tool:
// the daemon decides, a person is asked where its rules ask, and the agent runs the tool itself.
//
// # Vendors
//
// [Vendors] is the table: names, answers and places of each, with their publication. A rewritten
// command is answered only to versions that are known to honour it; to others, and to unknown ones,
// the answer is to ask (Claude Code) or to refuse (the others, whose hooks can't ask). Where no
// version does, the agent runs what is approved itself.
//
// # Limitations
//
// An agent runs all its hooks at once, and takes the rewritten command of the one that ends last.
// The hook after the tool reports that, and can't prevent it.
//
// Codex, and Claude Code before 2.1.295, let the tool run where the hook itself can't be started,
// crashes or takes longer than its time. The hook answers before that; a hook cannot prevent the
// other cases. docs/agents/ has the remedies.
package hook
