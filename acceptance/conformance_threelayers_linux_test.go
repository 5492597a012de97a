package acceptance

import (
	"testing"

	"sandboxd/approval/approvaltest"
)

// The three-layer architecture, through the socket: the mode table, session
// matching, what a request says, groups, denials.
//
// Other than the specification: an MCP tool asks unless a rule names it
// (R-AP-24); approve-all is switched on by a person and ends (R-AP-18); a
// wildcard is one that the request suggests (R-AP-07); a tool over the socket
// never "just runs" (R-AP-24). R-AP-02 R-AP-03 R-AP-04 R-AP-05 R-AP-07 R-AP-11
//
//   - Row 000-06 yes (modes/interactive): check_approval returns nothing: it runs, in interactive mode
//   - Row 000-07 yes (modes/approve-all): check_approval returns nothing: it runs, in approve-all mode
//   - Row 000-08 yes (modes/strict): check_approval returns nothing: it runs, in strict mode
//   - Row 000-09 yes (modes/interactive): an approval request is put to a person in interactive mode
//   - Row 000-10 yes (modes/approve-all): an approval request is approved in approve-all mode
//   - Row 000-11 yes (modes/strict): an approval request is denied in strict mode
//   - Row 000-12 yes (modes/strict): PermissionError blocks in all three modes
//   - Row 000-13 different (modes/approve-all): controller constructed with mode="approve_all" | only a person
//     switches it on, for a session and a time (R-AP-18)
//   - Row 000-16 yes (decorator): simple_approval_request exclude_keys
//   - Row 000-17 yes (decorator): @requires_approval() default
//   - Row 000-20 yes (session/exact): session approval: exact deep match
//   - Row 000-21 yes (session/equality): session approval: key order / nested freeze
//   - Row 000-36 yes (denied): denied → error with the note
//   - Row 000-58 yes (group): batch: shared group_id decided together
//   - Row 000-59 yes (mcp): MCP tools: asked by default, rules can wrap
//   - Row 000-60 yes (patterns): wildcards for session approvals (open question 3)
func TestConformanceThreeLayers(t *testing.T) {
	t.Parallel()
	// The PermissionError of a tool in a sandbox is, for a tool that the agent
	// runs itself, the operator's or user's rule.
	const outside = `
[[tools.rules]]
tool = "write_file"
when = { path = "/etc/*" }
decision = "deny"
description = "Path not in any sandbox"
`
	blocks := func(s *approvaltest.Scenario) { s.Config += outside }
	conform(t, approvaltest.ThreeLayers, map[string]func(*approvaltest.Scenario){
		"modes/interactive": blocks,
		"modes/strict":      blocks,
		"modes/approve-all": blocks,
		// Over the socket the content of a write is shown, and part of a yes; so it is the same here.
		"session/coarse": func(s *approvaltest.Scenario) {
			eachCall(s, []string{"a", "b"}, func(c *approvaltest.Call) {
				c.Tool, c.Args = "write", map[string]any{"file_path": "data", "content": "x"}
			})
		},
		"decorator": func(s *approvaltest.Scenario) {
			eachCall(s, []string{"mail", "mail2"}, func(c *approvaltest.Call) {
				c.Tool, c.Args = "write", map[string]any{"file_path": "to/a.example", "content": "Hi"}
			})
			eachWant(s, "mail", func(w *approvaltest.Want) {
				if w.State == approvaltest.Open {
					w.Text = "write: Create file: "
				}
			})
		},
		"group": func(s *approvaltest.Scenario) {
			n := 0
			eachCall(s, []string{"g1", "g2", "g3"}, func(c *approvaltest.Call) {
				n++
				c.Batch, c.Index, c.Total = "save", n, 3
			})
		},
		// File tools have no wider grants over the socket; commands do.
		"patterns": func(s *approvaltest.Scenario) {
			for call, line := range map[string]string{"first": "make data", "second": "make data -j2", "third": "make src",
				"fourth": "make database"} {
				eachCall(s, []string{call}, command(line))
			}
			eachWant(s, "first", func(w *approvaltest.Want) { w.Reason = "" })
		},
	}, false, nil)
}
