package sandboxd

import rego.v1

default answer := {"decision": "none"}

answer := {"decision": "block", "reason": "force pushes rewrite what others have"} if {
	input.tool == "bash"
	regex.match(`\bgit\s+push\b.*(\s-f\b|--force)`, input.payload.command)
}
