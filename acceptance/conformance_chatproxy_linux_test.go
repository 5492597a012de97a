package acceptance

import (
	"testing"

	"sandboxd/approval/approvaltest"
)

// The chat proxy, through the socket: scopes, their precedence, errors. Each
// agent is a process with an executable of its own.
//
// Other than the specification: the tool as a whole is granted by the
// request's own suggestion (R-AP-07); an agent that only has a name gets no
// grants of agent scope (R-AP-08); grants can be withdrawn (R-AP-21); where only
// remote approvers are there a question waits for five minutes (R-AP-14).
//
//   - Row 002-01 yes (once): a tool_permission event with type, permission_id, tool_name and input
//   - Row 002-02 yes (agent): permission_suggestions, which an answer can take
//   - Row 002-06 yes (once): behavior allow
//   - Row 002-07 yes (deny-once): behavior deny, and its message reaches the agent
//   - Row 002-09 yes (once): the call waits for the decision
//   - Row 002-10 yes (timeout): no answer in time is a no
//   - Row 002-11 yes (once): after allow once the next call asks again
//   - Row 002-12 yes (agent): always for this agent: no prompt on its next request
//   - Row 002-13 yes (revoke): always, for every agent
//   - Row 002-14 yes (deny-once): deny
//   - Row 002-15 yes (global-deny): deny and remember: all agents are denied unasked
//   - Row 002-16 yes (precedence): once, then agent, then global
//   - Row 002-17 yes (deny-first): at the same scope a deny beats an allow
//   - Row 002-18 yes (agent): stored per agent, which is its executable
//   - Row 002-19 yes (failed-delivery): a failed delivery keeps the request pending
//   - Row 002-20 yes (failed-delivery): a retry after a failure counts
//   - Row 002-21 yes (failed-delivery): a failure has a message for the client
//   - Row 002-26 yes (once): the message "Permission required to use X."
//   - Row 002-27 different: a sheet with five actions | the five answers are fields of the answer; the app is a
//     front end's (R-UX-04)
//   - Row 002-28 different (revoke): a store on the device | the daemon keeps grants, and lists and withdraws
//     them (R-AP-08, R-AP-21)
func TestConformanceChatProxy(t *testing.T) {
	t.Parallel()
	conform(t, approvaltest.ChatProxy, map[string]func(*approvaltest.Scenario){
		"failed-delivery": func(s *approvaltest.Scenario) { eachError(s, "behavior allow or deny") },
	}, false, newChat)
}
