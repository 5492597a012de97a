package approval

import (
	"fmt"
	"time"
)

// Outcome is the result of a decision.
type Outcome string

const (
	Approved Outcome = "approved"
	Denied   Outcome = "denied"
	// WouldAsk is only ever the outcome of a dry run.
	WouldAsk Outcome = "ask"
)

// How says whether a person decided this very call.
type How string

const (
	HowAuto   How = "auto"
	HowPerson How = "person"
)

// Layer is the step of the decision order (R-AP-09) that decided.
type Layer string

const (
	LayerStop       Layer = "stop"
	LayerBlock      Layer = "block"
	LayerDenyGrant  Layer = "deny_grant"
	LayerPolicy     Layer = "policy"
	LayerCheck      Layer = "check" // the tool itself said "run"
	LayerSafe       Layer = "safe"
	LayerConfigured Layer = "configured"
	LayerTurn       Layer = "turn"
	LayerSession    Layer = "session"
	LayerProject    Layer = "project"
	LayerAgent      Layer = "agent"
	LayerGlobal     Layer = "global"
	LayerBatch      Layer = "batch"
	LayerMode       Layer = "mode"
	LayerPerson     Layer = "person"
	LayerSystem     Layer = "system" // time, cancellation, overload, faults
)

// Reason is a stable code for why a decision came out as it did.
type Reason string

const (
	ReasonStopped    Reason = "stopped"     // the session's stop signal is set
	ReasonBlocked    Reason = "blocked"     // by the tool, the operator or a rule
	ReasonGrant      Reason = "grant"       // a grant decided
	ReasonWhitelist  Reason = "whitelist"   // not on the whitelist
	ReasonSafeOnly   Reason = "safe_only"   // not on the safe list
	ReasonNoCheck    Reason = "no_check"    // the tool asks for no approval
	ReasonSafe       Reason = "safe"        // on the safe list
	ReasonConfigured Reason = "configured"  // a configured rule allows it
	ReasonBlacklist  Reason = "blacklist"   // blacklist mode, and it is not on the list
	ReasonContained  Reason = "contained"   // its effects stay in the project and can be undone
	ReasonBatch      Reason = "batch"       // "approve all" covered it
	ReasonApproveAll Reason = "approve_all" // approve-all mode
	ReasonStrict     Reason = "strict"      // strict mode
	ReasonPerson     Reason = "person"      // a person answered
	ReasonQuit       Reason = "quit"        // a person quit the batch
	ReasonTimeout    Reason = "timeout"     // no person answered
	ReasonNoApprover Reason = "no_approver" // nobody could answer, and waiting is switched off
	ReasonCancelled  Reason = "cancelled"   // the caller went away, or the session closed
	ReasonFlood      Reason = "flood"       // too many questions are waiting
	ReasonFault      Reason = "fault"       // an internal fault or an unreadable answer
	ReasonAudit      Reason = "audit"       // it could not be recorded
	ReasonAgain      Reason = "again"       // undecided: presets were switched on, and the call is judged again
)

// Decision is the answer to a call. The zero value denies.
type Decision struct {
	Outcome Outcome `json:"outcome"`
	// Approved is Outcome == Approved: the one field a caller must look at.
	Approved bool   `json:"approved"`
	Scope    Scope  `json:"scope,omitempty"`
	Reason   Reason `json:"reason"`
	Layer    Layer  `json:"layer"`
	// Key is Answer.Key.
	Key string `json:"key,omitempty"`
	// Why is a sentence for people; Note is the person's text.
	Why  string   `json:"why,omitempty"`
	Note string   `json:"note,omitempty"`
	How  How      `json:"how"`
	By   Identity `json:"by,omitzero"`
	// Rule and Grant name the deciding rule or grant, if any.
	Rule  string `json:"rule,omitempty"`
	Grant string `json:"grant,omitempty"`
	// Reject is set on denials: whether the agent may continue.
	Reject RejectMode `json:"reject,omitempty"`
	// Widening is the Value of the widening that came with the yes.
	Widening string `json:"widening,omitempty"`
	// Trust came with the yes, as in Answer.
	Trust Trust `json:"trust,omitempty"`
	// Paths came with the yes, as in Answer.
	Paths []string `json:"paths,omitempty"`
	// Digest is the Call.Digest that was decided; see Holds.
	Digest string `json:"digest,omitempty"`
	// Request is the permission id, where a person was asked.
	Request string `json:"request,omitempty"`
	// Confirmed: a second, separate yes was given.
	Confirmed bool `json:"confirmed,omitempty"`
	// Together is how many requests this one answer decided, if more than one.
	Together int `json:"together,omitempty"`
	// Warnings go with every answer, such as "approve-all is on until …".
	Warnings []string  `json:"warnings,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Holds reports whether the decision still covers the present call: it
// approves, and digest is the one that was shown. When it does not, the
// caller asks again.
func (d Decision) Holds(digest string) error {
	if !d.Approved {
		return fmt.Errorf("decision %q: denied: %s", d.Request, d.Reason)
	}
	if d.Digest != digest {
		return fmt.Errorf("decision %q: what would run is no longer what was shown; ask again", d.Request)
	}
	return nil
}
