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
func TestConformanceChatProxy(t *testing.T) {
	conform(t, approvaltest.ChatProxy, map[string]func(*approvaltest.Scenario){
		"failed-delivery": func(s *approvaltest.Scenario) { eachError(s, "behavior allow or deny") },
	}, false, newChat)
}
