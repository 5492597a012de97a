package approval

import (
	"context"
	"errors"
	"fmt"
)

// RuleEffect is the effect of configured rules on a call.
type RuleEffect string

const (
	RuleNone  RuleEffect = ""
	RuleAllow RuleEffect = "allow"
	RuleAsk   RuleEffect = "ask"
	RuleDeny  RuleEffect = "deny"
)

// Class is the knowledge of the tool layer and the configuration about a call,
// apart from the request itself. The zero value knows nothing.
type Class struct {
	// Act is what the tool does, by the table of tools. No tool of an MCP server is in that.
	Act Act
	// Asks: that table has it ask whatever it changes.
	Asks bool
	// Safe: on the reviewed list of harmless calls.
	Safe bool
	// Rule is the verdict of the configured permission that names this call.
	// RuleAsk represents an explicit ask rule, which asks in spite of any grant
	// before; a mere default of asking is RuleNone.
	Rule RuleEffect
	// RuleText is that rule as written, with its place.
	RuleText string
	// Operator: the rule is the operator's own; only then may RuleAllow run
	// dangerous or protected calls unasked.
	Operator bool
	// Contained: the policy of that name holds, and it runs unasked under it.
	Contained bool
	// Dangerous, Protected, Delete are or-ed with those of the request.
	Dangerous, Protected, Delete bool
}

// Batch is a call's place among the tool calls of one model response.
type Batch struct {
	// ID distinguishes the batches of a session; empty means not in a batch.
	ID string `json:"id,omitempty"`
	// Index counts from 1 to Total.
	Index int `json:"index,omitempty"`
	Total int `json:"total,omitempty"`
	// Remaining are the calls after this one, as they were announced.
	Remaining []Remaining `json:"remaining,omitempty"`
}

// Remaining is one call that is still to come in a batch.
type Remaining struct {
	Tool        string `json:"tool"`
	Description string `json:"description,omitempty"`
	// Args are the call's arguments as its own question shows them; nil where
	// they were not looked at.
	Args map[string]any `json:"args,omitempty"`
	// Digest must equal the later Call.Digest for "approve all" to
	// cover it. A call without digests could not be viewed, and is not covered.
	Digest string `json:"digest,omitempty"`
	// Own is the digest of the same call where the agent makes it itself and
	// only asks; it and Digest stand for one call.
	Own string `json:"own,omitempty"`
	// Delete, Dangerous, Protected calls are shown as not covered.
	Delete    bool `json:"delete,omitempty"`
	Dangerous bool `json:"dangerous,omitempty"`
	Protected bool `json:"protected,omitempty"`
}

// Viewed reports whether the call could be looked at before its turn.
func (r Remaining) Viewed() bool { return r.Digest != "" || r.Own != "" }

// Call is one tool call to decide. The caller fills it; Decide never changes
// the values it points to.
type Call struct {
	// ID is the caller's own id of the call, for events and records.
	ID        string
	Principal Principal
	// Session is required; state is kept per (Principal, Session).
	Session string
	Agent   Agent
	// Project is the directory of the session's project; grants of the project scope compare it. Empty: none.
	Project string
	// Turn is the turn the call belongs to; 0 means the session's current one.
	// Turn grants do not reach a call of another turn.
	Turn  int
	Batch Batch

	// Tool is required. Payload replaces Request.Payload where Request is nil.
	Tool    string
	Payload map[string]any
	// Request is the tool's request; nil means the tool says "run".
	Request *Request
	// Blocked is the tool's "never"; it wins over Request.
	Blocked *BlockedError
	Class   Class

	// Digest binds a decision to the shown call: command, cwd, environment,
	// profile, file content. The supervisor derives it again before the effect.
	Digest string
	// Input is shown as the call's input; nil means the payload.
	Input map[string]any
	Cwd   string
	// Why is the agent's or the tool's explanation, in words.
	Why string
	// Widenings are on offer, smallest first.
	Widenings []Widening
	// Unwidened, where it is not empty, is why a yes that takes none of Widenings is not enough: there is no such yes,
	// neither a person's nor that of a mode.
	Unwidened string
	// Presets are on offer; the caller of Decide judges again where a decision's reason is ReasonAgain.
	Presets []Preset
	// Trusts are on offer; nil: the answer does not concern trust.
	Trusts []Trust
	// Paths are what a yes may take some of; nil: it takes all.
	Paths []string
	// Inline: the person at the caller's own terminal may answer.
	Inline bool
	// Client: the agent's own client can put the question to its user.
	Client bool

	// Present builds the costly presentation. It is called at most once, and
	// only when a person will see it; it must return when ctx ends. Nil means
	// that Request.Presentation is all there is. When it fails, the person is
	// informed and may still answer, for this once.
	Present func(ctx context.Context) (*Presentation, error)
	// Named is called once with the question's id, before anybody can see the question:
	// a front end may need more of it. It must not block, nor call the controller.
	Named func(id string)
	// Asked is called once, from Decide's goroutine, when the question has
	// been put to the queue. It must not block.
	Asked func(Pending)
}

func (c *Call) ref() SessionRef { return SessionRef{c.Principal, c.Session} }

// payload returns the value that grants are matched against.
func (c *Call) payload() map[string]any {
	if c.Request != nil {
		return c.Request.Payload
	}
	return c.Payload
}

// shown returns the value that people see in place of the payload.
func (c *Call) shown() map[string]any {
	if c.Input != nil {
		return c.Input
	}
	return c.payload()
}

func (c *Call) dangerous() bool {
	return c.Class.Dangerous || c.Request != nil && c.Request.Dangerous
}

func (c *Call) protected() bool {
	return c.Class.Protected || c.Request != nil && c.Request.Protected
}

func (c *Call) delete() bool {
	return c.Class.Delete || c.Request != nil && c.Request.Delete
}

// low reports whether a yes can do little: the only calls that the agent's own
// client may answer.
func (c *Call) low() bool {
	return c.Request != nil && c.Request.Risk == RiskLow && !c.Request.Outside && !c.dangerous() && !c.protected() &&
		!c.delete()
}

// validate reports a malformed call; such a call is refused.
func (c *Call) validate() error {
	switch {
	case c.Tool == "":
		return errors.New("decide call: no tool named")
	case c.Session == "":
		return fmt.Errorf("decide call of %q: no session", c.Tool)
	case c.Request != nil && c.Request.Tool != c.Tool:
		return fmt.Errorf("decide call of %q: its request names tool %q", c.Tool, c.Request.Tool)
	case c.Batch.ID != "" && (c.Batch.Index < 1 || c.Batch.Index > c.Batch.Total):
		return fmt.Errorf("decide call of %q: place %d of %d in its batch", c.Tool, c.Batch.Index, c.Batch.Total)
	}
	switch c.Class.Rule {
	case RuleNone, RuleAllow, RuleAsk, RuleDeny:
	default:
		return fmt.Errorf("decide call of %q: unknown rule effect %q", c.Tool, c.Class.Rule)
	}
	return nil
}
