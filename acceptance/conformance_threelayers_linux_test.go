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
//   - Row 000-11 yes (modes/strict): an approval request is denied in strict mode
//   - Row 000-13 different (modes/approve-all): the controller is constructed with mode="approve_all" | only a person
//     switches it on, for a session and a time (R-AP-18)
func TestConformanceThreeLayers(t *testing.T) {
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
		// The author of the tool decides: the payload of write lacks the content.
		"session/coarse": func(s *approvaltest.Scenario) {
			eachCall(s, []string{"a", "b"}, func(c *approvaltest.Call) {
				c.Tool, c.Args = "write", map[string]any{"file_path": "data", "content": c.Name}
			})
		},
		"decorator": func(s *approvaltest.Scenario) {
			eachCall(s, []string{"mail", "mail2"}, func(c *approvaltest.Call) {
				c.Tool, c.Args = "write", map[string]any{"file_path": "to/a.example", "content": "secret of " + c.Name}
			})
			eachWant(s, "mail", func(w *approvaltest.Want) {
				if w.State == approvaltest.Open {
					w.Text = `write(file_path="to/a.example")` // and not the content
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
			for call, line := range map[string]string{"first": "make data", "second": "make data -j2", "third": "make src", "fourth": "make database"} {
				eachCall(s, []string{call}, command(line))
			}
			eachWant(s, "first", func(w *approvaltest.Want) { w.Reason = "" })
		},
	}, false, nil)
}
