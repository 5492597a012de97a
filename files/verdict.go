package files

import "sandboxd/approval"

// Decision is the tool's decision about a call.
type Decision uint8

const (
	Ask Decision = iota // the zero value: when in doubt, a person decides
	Auto
	Block
)

func (d Decision) String() string { return [...]string{"ask", "auto", "block"}[d] }

// Verdict is the judgement of one request.
type Verdict struct {
	Decision Decision
	// Tool is the name under which it is asked about, logged and granted.
	Tool string
	// Why is one sentence; Rule names the setting that decided.
	Why, Rule string
	Risk      approval.Risk
	Reasons   []string
	// Protected and Delete ask twice.
	Protected, Delete bool
	// Safe: a safe path. Configured: the sandbox's own write_approval or read_approval decided;
	// with Auto it permits, with Ask it asks despite any grant.
	Safe, Configured bool
	// Quiet: reading would ask, so that conflicts must not show content.
	Quiet bool
	// Outside: the path is outside the project (in another sandbox).
	Outside bool
	// Sandbox is the name of the sandbox; Path and To are real and absolute.
	Sandbox, Path, To string
	// Description is one line for a person.
	Description string
	// Payload is the key of "allow for this session".
	Payload     map[string]any
	Suggestions []approval.Suggestion
}

// Request is the verdict as the controller takes it: nil to run, a request to
// ask, a *approval.BlockedError never to run.
func (v Verdict) Request() (*approval.Request, error) {
	switch v.Decision {
	case Auto:
		return nil, nil
	case Block:
		return nil, &approval.BlockedError{Reason: v.Why, Rule: v.Rule}
	}
	return &approval.Request{
		Tool: v.Tool, Description: v.Description, Payload: v.Payload,
		Risk: v.Risk, Reasons: v.Reasons, BlockedPath: v.Path,
		Protected: v.Protected, Delete: v.Delete, Outside: v.Outside,
		Warnings: v.warnings(), Suggestions: v.Suggestions,
	}, nil
}

func (v Verdict) warnings() []string {
	var out []string
	if v.Outside {
		out = append(out, "OUTSIDE PROJECT")
	}
	if v.Protected {
		out = append(out, "PROTECTED")
	}
	return out
}

// Class is the verdict's part of an approval.Call.
func (v Verdict) Class() approval.Class {
	c := approval.Class{Safe: v.Safe, RuleText: v.Rule, Protected: v.Protected, Delete: v.Delete}
	switch {
	case v.Configured && v.Decision == Auto:
		c.Rule = approval.RuleAllow
	case v.Configured && v.Decision == Ask:
		c.Rule = approval.RuleAsk
	}
	return c
}
