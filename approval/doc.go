// Package approval decides whether a tool call may run: at once, after a
// person said yes, or never. Any Go program can use it; it knows no daemon, no
// socket and no terminal.
//
// # Promise
//
// Nothing but an explicit yes approves a call that asks. Silence, a crash, an answer
// that cannot be read, a store that cannot be written, an overload, a
// cancelled caller: all deny, or leave the question open, with a reason. The
// question as shown is the one that an answer covers: a yes carries the hash of the
// question, and a decision carries the digest of the call (Decision.Holds).
// A block blocks in every mode.
//
// # Use
//
// A tool says whether a call needs approval (Checker, RequireApproval); a
// Controller decides; an Approver, or any code that lists Pending and calls
// Answer, is the person's side.
//
//	c, err := approval.New(approval.Options{})
//	…
//	leave := c.Attach(approval.Identity{Name: "terminal", Via: approval.ViaTerminal}, prompt)
//	defer leave()
//	_, err = c.Run(ctx, approval.Work{
//		Call:    approval.Call{Session: "main"},
//		Context: approval.Context{Tool: "send_email", Args: args},
//		Check:   approval.RequireApproval("send_email", approval.Exclude("body")),
//		Do:      send,
//	})
//
// Programs that check and run by themselves call Decide, then Begin with the
// digest of the present call, then End.
//
// # The order of decisions
//
// For every call, the first of these that speaks decides:
//
//  1. the session's stop signal: denied;
//  2. a block, by the tool, a configured rule, an added rule, a hook: denied;
//  3. a grant whose narrowest match is a deny: denied;
//  4. whitelist policy, or safe commands only, and not permitted by name: denied;
//  5. a configured or added rule that asks, something dangerous or protected:
//     goes to 12, unless an operator's rule allows it by name;
//  6. the tool asks for nothing, or the call is on the safe list: approved;
//  7. a configured or added rule that allows: approved; blacklist policy, for
//     all but deletes: approved;
//  8. grants for the turn, 9. the session, 10. the project, the agent, global: approved;
//  11. "approve all" of the batch listed this digest, and it is no delete: approved;
//  12. approve-all mode: approved; strict mode: denied; else a person is asked.
//
// A deny beats an allow of the same scope; a narrower scope beats a wider one.
// Open questions are weighed again whenever something here changes.
//
// # Answers
//
// An answer names the question, the Rev and Hash that were seen, a Verb, and
// perhaps a Scope, a lifetime, one of the request's own suggestions, and one
// of the widenings on offer. The first valid answer wins; repeating it gives
// the same Receipt; any other gets a *DecidedError. Deletes, dangerous and
// protected things take two: the first yes returns a code, the second carries
// it. A rejection is hard unless it says soft: it stops the session until
// NewTurn or Resume.
//
// A session is (principal, id). Nothing of one principal is visible to
// another, not even that it exists; an Identity with Operator sees all.
//
// # Memory
//
// "For the session" and wider remember the payload, compared deeply
// (Fingerprint), or a Pattern that the request suggested. Project, agent and global
// grants are kept in a Store; FileStore is one JSON file. Each grant records
// its author, time, reason, question, and number of uses.
//
// # Extending
//
// Options.Rules adds judges, Options.Hooks is called before and after; package
// external runs an operator's program as a Rule; Options.Authorize keeps an
// approver from answering its own questions.
//
// # Limitations
//
// The caller names principals, agents and approvers; this package does
// not identify them. It does not run anything in a sandbox. A payload that is no
// JSON-like value can be asked about but not remembered. Presenters, rules,
// hooks and approvers run in this process and are trusted to return when
// their context ends; one that does not holds up Close, and its own call, but
// no other. Grants for turns and sessions are in memory only. Lifetimes go by
// the wall clock across restarts: an allow whose clock was set back before its
// beginning does not count, one whose clock was set back within its life does.
package approval
