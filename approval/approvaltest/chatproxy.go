package approvaltest

import (
	"time"

	"sandboxd/approval"
)

// ChatProxy walks through tool approval in chat: scopes, precedence, errors.
func ChatProxy() []Scenario { return append(chatAnswers(), chatEnds()...) }

const chat = "chat proxy"

func search(name, agent, query string) Call {
	c := Call{Name: name, Tool: "WebSearch", Args: args{"query": query}}
	return by(agent, c)
}

// remember is an answer by the suggestion that means any call of the tool.
func remember(call string, verb approval.Verb, scope approval.Scope) Answer {
	a := Answer{To: call, Verb: verb, Scope: scope, Suggestion: 1, Via: approval.ViaRemote}
	if verb == approval.VerbDeny {
		a.Mode = soft
	}
	return a
}

// chatAnswers are the answers, and which of several counts.
func chatAnswers() []Scenario {
	return []Scenario{
		{Name: "once", Seed: chat, Section: "Testing: approve once, verify the stream continues", Steps: steps(
			made("WebSearch asks", search("first", "writer", "go"), asks("first")),
			said("allow once", Answer{To: "first", Verb: approval.VerbAllow, Via: approval.ViaRemote},
				runs("first", person, "")),
			made("the next request asks", search("second", "writer", "go"), asks("second")),
		)},
		{Name: "deny-once", Seed: chat, Section: "Testing: deny once, the CLI receives a permission error", Steps: steps(
			made("WebSearch asks", search("first", "writer", "go"), asks("first")),
			said("deny", no("first", "Permission denied by user.", soft),
				refused("first", approval.ReasonPerson, "Permission denied by user.")),
			made("the next request asks", search("second", "writer", "go"), asks("second")),
		)},
		{Name: "agent", Seed: chat, Section: "Testing: always for this agent",
			Differs: "R-AP-07: the tool as a whole is a suggestion of the request, not what a scope means by itself",
			Steps: steps(
				made("WebSearch asks", search("first", "writer", "go"), asks("first")),
				said("always for this agent", remember("first", approval.VerbAllow, approval.ScopeAgent),
					runs("first", person, "")),
				made("no prompt on the next request", search("second", "writer", "rust"),
					runs("second", auto, approval.ReasonGrant)),
				made("nor in another session", in("other", search("third", "writer", "zig")),
					runs("third", auto, approval.ReasonGrant)),
				made("another agent asks", search("fourth", "reader", "go"), asks("fourth")),
			)},
		{Name: "agent-by-name", Seed: chat, Section: "Data model: scope agent",
			Differs: "R-AP-08: an agent that is only a name gets no agent-scope grants", Steps: steps(
				made("WebSearch asks", search("first", "", "go"), asks("first")),
				said("always for this agent", Answer{To: "first", Verb: approval.VerbAllow, Scope: approval.ScopeAgent,
					WantError: "not on offer"}, asks("first")),
			)},
		{Name: "global-deny", Seed: chat, Section: "Testing: global deny, all agents auto-deny", Steps: steps(
			made("WebSearch asks", search("first", "writer", "go"), asks("first")),
			said("deny and remember, for all", remember("first", approval.VerbDeny, approval.ScopeGlobal),
				refused("first", approval.ReasonPerson, "")),
			made("the same agent", search("second", "writer", "rust"), refused("second", approval.ReasonGrant, "denied")),
			made("another agent, another session", in("other", search("third", "reader", "go")),
				refused("third", approval.ReasonGrant, "denied")),
		)},
		{Name: "precedence", Seed: chat, Section: "Decision precedence: once, agent, global", Steps: steps(
			made("WebSearch asks", search("first", "writer", "go"), asks("first")),
			said("this agent never", remember("first", approval.VerbDeny, approval.ScopeAgent),
				refused("first", approval.ReasonPerson, "")),
			made("another agent asks", search("second", "reader", "go"), asks("second")),
			said("everybody always", remember("second", approval.VerbAllow, approval.ScopeGlobal), runs("second", person, "")),
			made("agent beats global: denied", search("third", "writer", "go"), refused("third", approval.ReasonGrant, "")),
			made("global holds for the others", search("fourth", "editor", "go"), runs("fourth", auto, approval.ReasonGrant)),
		)},
		{Name: "deny-first", Seed: chat, Section: "Decision precedence: deny overrides allow at one scope", Steps: steps(
			made("WebSearch asks", search("first", "writer", "go"), asks("first")),
			said("this query never, for all",
				Answer{To: "first", Verb: approval.VerbDeny, Scope: approval.ScopeGlobal, Mode: soft, Via: approval.ViaRemote},
				refused("first", approval.ReasonPerson, "")),
			made("another query asks", search("second", "writer", "rust"), asks("second")),
			said("any query always, for all", remember("second", approval.VerbAllow, approval.ScopeGlobal),
				runs("second", person, "")),
			made("the denied query stays denied", search("third", "reader", "go"), refused("third", approval.ReasonGrant, "")),
			made("others run", search("fourth", "reader", "zig"), runs("fourth", auto, approval.ReasonGrant)),
		)},
	}
}

// chatEnds are the ends of grants and requests.
func chatEnds() []Scenario {
	return []Scenario{
		{Name: "revoke", Seed: chat, Section: "Data model: stored approvals", Differs: "R-AP-21: they can be withdrawn",
			Steps: steps(
				made("WebSearch asks", search("first", "writer", "go"), asks("first")),
				said("everybody always", remember("first", approval.VerbAllow, approval.ScopeGlobal), runs("first", person, "")),
				made("no prompt", search("second", "reader", "go"), runs("second", auto, approval.ReasonGrant)),
				Step{Say: "withdrawn", Revoke: "second"},
				made("it asks", search("third", "reader", "go"), asks("third")),
			)},
		{Name: "session-end", Seed: chat, Section: "Data model: scopes", Differs: "R-AP-08: also a session", Steps: steps(
			made("WebSearch asks", search("first", "writer", "go"), asks("first")),
			said("for this session", yes("first", approval.ScopeSession), runs("first", person, "")),
			made("no prompt", search("second", "writer", "go"), runs("second", auto, approval.ReasonGrant)),
			made("another query asks", search("third", "writer", "rust"), asks("third")),
			said("always for this agent", yes("third", approval.ScopeAgent), runs("third", person, "")),
			Step{Say: "the session ends", Close: "main"},
			made("the session's asks", search("fourth", "writer", "go"), asks("fourth")),
			made("the agent's runs", search("fifth", "writer", "rust"), runs("fifth", auto, approval.ReasonGrant)),
		)},
		{Name: "timeout", Seed: chat, Section: "Error handling: the proxy times out and denies",
			Differs: "R-AP-14: 5 minutes where only remote approvers are there", Steps: steps(
				Step{Say: "only a remote approver is there", Connect: approval.ViaRemote},
				made("WebSearch asks", search("first", "writer", "go"), asks("first")),
				Step{Say: "a minute", Sleep: time.Minute, Want: []Want{asks("first")}},
				Step{Say: "five minutes", Sleep: 4 * time.Minute,
					Want: []Want{refused("first", approval.ReasonTimeout, "no person answered")}},
			)},
		{Name: "failed-delivery", Seed: chat, Section: "Error handling: a failed response keeps the request pending",
			Steps: steps(
				made("WebSearch asks", search("first", "writer", "go"), asks("first")),
				said("an answer that cannot be taken", Answer{To: "first", Verb: "approve", WantError: "unknown verb"},
					asks("first")),
				said("the retry", yes("first", once), runs("first", person, "")),
			)},
	}
}
