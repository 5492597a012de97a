package approvaltest

import (
	"time"

	"sandboxd/approval"
)

// ThreeLayers walks through the tool approval architecture in three layers.
func ThreeLayers() []Scenario {
	const seed = "three-layer architecture"
	bare := Call{Name: "bare", Tool: "list_things", Args: args{}, Word: Word{Run: true}}
	write := file("write", "write_file", "notes/report.txt", approval.Class{})
	outside := Call{Name: "outside", Tool: "write_file", Args: args{"path": "/etc/passwd"}, Word: Word{Block: "Path not in any sandbox: /etc/passwd"}}
	blocked := refused("outside", approval.ReasonBlocked, "Path not in any sandbox")
	return []Scenario{
		{Name: "modes/interactive", Seed: seed, Section: "Separation of Concerns: the mode table, column Interactive", Steps: steps(
			made("None: execute", bare, runs("bare", auto, approval.ReasonNoCheck)),
			made("PermissionError: block", outside, blocked),
			made("ApprovalRequest: prompt user", write, asks("write")),
			said("the user approves", yes("write", once), runs("write", person, approval.ReasonPerson)),
		)},
		{Name: "modes/strict", Seed: seed, Section: "the mode table, column --strict", Config: "[approval]\nmode = \"strict\"\n", Steps: steps(
			made("None: execute", bare, runs("bare", auto, approval.ReasonNoCheck)),
			made("PermissionError: block", outside, blocked),
			made("ApprovalRequest: auto-deny", write, refused("write", approval.ReasonStrict, "strict mode")),
		)},
		{Name: "modes/approve-all", Seed: seed, Section: "the mode table, column --approve-all", Differs: "R-AP-18: only a person switches it on, for a time", Steps: steps(
			Step{Say: "a person switches it on", ApproveAll: &ApproveAll{"main", time.Hour}},
			made("None: execute", bare, runs("bare", auto, approval.ReasonNoCheck)),
			made("ApprovalRequest: auto-approve", write, runs("write", auto, approval.ReasonApproveAll)),
			made("PermissionError: block, in this mode too", outside, blocked),
			Step{Say: "its hour is over", Sleep: time.Hour},
			made("it asks again", named("again", write), asks("again")),
		)},
		{Name: "session/exact", Seed: seed, Section: "Session Approval Matching: exact match by default", Steps: steps(
			made("first write asks", write, asks("write")),
			said("approve for session", yes("write", approval.ScopeSession), runs("write", person, approval.ReasonPerson)),
			made("the same payload runs", named("same", write), runs("same", auto, approval.ReasonGrant)),
			made("another path asks", file("other", "write_file", "notes/other.txt", approval.Class{}), asks("other")),
			made("the same payload of another tool asks", file("append", "append_file", "notes/report.txt", approval.Class{}), asks("append")),
			made("another session asks", in("second", named("elsewhere", write)), asks("elsewhere")),
		)},
		{Name: "session/equality", Seed: seed, Section: "Session Approval Matching: deeply equal, order and number types aside", Steps: steps(
			made("a nested payload asks", deep("first", args{"query": args{"a": 1, "b": []any{1, "x"}}}), asks("first")),
			said("approve for session", yes("first", approval.ScopeSession), runs("first", person, "")),
			made("reordered keys, and 1.0 for 1", deep("second", args{"query": args{"b": []any{1.0, "x"}, "a": 1.0}}), runs("second", auto, approval.ReasonGrant)),
			made("another order in a list is another payload", deep("third", args{"query": args{"a": 1, "b": []any{"x", 1}}}), asks("third")),
		)},
		{Name: "session/coarse", Seed: seed, Section: "Session Approval Matching: tools control granularity", Steps: steps(
			made("all writes to a sandbox are one payload", Call{Name: "a", Tool: "write_file", Args: args{"path": "data/a"}, Word: Word{Payload: args{"sandbox": "data"}}}, asks("a")),
			said("approve for session", yes("a", approval.ScopeSession), runs("a", person, "")),
			made("another file of the sandbox runs", Call{Name: "b", Tool: "write_file", Args: args{"path": "data/b"}, Word: Word{Payload: args{"sandbox": "data"}}}, runs("b", auto, approval.ReasonGrant)),
		)},
		{Name: "decorator", Seed: seed, Section: "Custom tool: description from arguments, excluded keys", Steps: steps(
			made("the description is made from the arguments", Call{Name: "mail", Tool: "send_email", Args: args{"to": "a@example.org", "subject": "Hi", "body": "secret"},
				Word: Word{Description: "Send email to a@example.org: Hi", Payload: args{"to": "a@example.org", "subject": "Hi"}}},
				Want{Call: "mail", State: Open, Text: "Send email to a@example.org: Hi"}),
			said("approve for session", yes("mail", approval.ScopeSession), runs("mail", person, "")),
			made("another body, which is excluded, runs", Call{Name: "mail2", Tool: "send_email", Args: args{"to": "a@example.org", "subject": "Hi", "body": "other"},
				Word: Word{Description: "Send email to a@example.org: Hi", Payload: args{"to": "a@example.org", "subject": "Hi"}}}, runs("mail2", auto, approval.ReasonGrant)),
		)},
		{Name: "group", Seed: seed, Section: "Batch Approvals: requests that share a group_id are decided together", Steps: steps(
			made("save project: first file", group("g1", "a.txt"), asks("g1")),
			made("second file", group("g2", "b.txt"), asks("g2")),
			made("third file", group("g3", "c.txt"), asks("g3")),
			said("one yes for the group", Answer{To: "g2", Verb: approval.VerbAllow, Group: true}, runs("g1", person, ""), runs("g2", person, ""), runs("g3", person, "")),
		)},
		{Name: "denied", Seed: seed, Section: "Runtime Flow: Approval denied, with the note", Steps: steps(
			made("it asks", write, asks("write")),
			said("the user says no, with a note", no("write", "use docs/ instead", soft), refused("write", approval.ReasonPerson, "use docs/ instead")),
		)},
		{Name: "patterns", Seed: seed, Section: "Open question 3: wildcards, answered by R-AP-07", Differs: "R-AP-07: patterns come from the request's own suggestions", Steps: steps(
			made("a write under data/ asks", under("first", "data/a.txt"), asks("first")),
			said("allow all writes under data/ for the session", Answer{To: "first", Verb: approval.VerbAllow, Scope: approval.ScopeSession, Suggestion: 1}, runs("first", person, "")),
			made("another write under data/ runs", under("second", "data/deep/b.txt"), runs("second", auto, approval.ReasonGrant)),
			made("a write elsewhere asks", under("third", "src/b.txt"), asks("third")),
			made("a folder with a similar name asks", under("fourth", "database/b.txt"), asks("fourth")),
		)},
		{Name: "mcp", Seed: seed, Section: "Open question 1: MCP tools", Differs: "R-AP-24: always ask unless a rule names them", Steps: steps(
			made("an MCP tool asks", Call{Name: "m", Tool: "mcp__files__list_files", Args: args{"path": "."}}, asks("m")),
		)},
	}
}

func deep(name string, payload args) Call {
	return Call{Name: name, Tool: "database", Args: payload, Word: Word{Payload: payload}}
}

func group(name, path string) Call {
	c := file(name, "write_file", path, approval.Class{})
	c.Word.Group = "save-project"
	return c
}

// under is a write whose tool suggests all writes under data/ where that fits.
func under(name, path string) Call {
	c := file(name, "write_file", path, approval.Class{})
	c.Word.Suggest = []approval.Suggestion{{Label: "all writes under data/", Pattern: approval.Pattern{
		Tool: "write_file", Where: []approval.Condition{approval.Under("path", "data")}}}}
	return c
}
