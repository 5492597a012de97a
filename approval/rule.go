package approval

import (
	"context"
	"errors"
	"fmt"
)

// Rule is an added judge (R-AP-22). It may only add: its ruling is weighed
// with the tool's and the configuration's word, and the strictest wins.
type Rule interface {
	// Judge must not change the values that call points to, and must return when ctx
	// ends. An error or a panic counts as "ask".
	Judge(ctx context.Context, call Call) (Ruling, error)
}

// Ruling is the result of a rule: RuleNone (no opinion), RuleAllow (run), RuleAsk
// or RuleDeny (block). Run counts like a configured allow: calls that are dangerous
// or protected still ask.
type Ruling struct {
	Effect RuleEffect
	// Rule names the rule in records; Reason is for people and the agent.
	Rule   string
	Reason string
}

// Hooks are called before and after a decision and an execution (R-AP-22). Any
// of them may be nil. They run in the goroutine of the call, must not block
// for long, and must not call the controller. A panic counts as an error.
type Hooks struct {
	// BeforeDecision may refuse the call with an error, before anybody is asked.
	BeforeDecision func(ctx context.Context, call Call) error
	// AfterDecision puts a decision on record. An error turns an approval into
	// a denial with ReasonAudit, and takes back a grant made by the same answer.
	AfterDecision func(ctx context.Context, call Call, d Decision) error
	// BeforeExecution may refuse an approved call. See Controller.Begin.
	BeforeExecution func(ctx context.Context, call Call, d Decision) error
	// AfterExecution receives the outcome; err is the execution's.
	AfterExecution func(ctx context.Context, call Call, d Decision, err error)
}

// strictness orders rule effects; of several rulings the strictest counts.
func strictness(e RuleEffect) int {
	switch e {
	case RuleNone:
		return 0
	case RuleAllow:
		return 1
	case RuleDeny:
		return 3
	}
	return 2 // ask, and anything we do not know
}

// judge asks every added rule.
func (c *Controller) judge(ctx context.Context, call *Call) (strictest ruling) {
	for _, r := range c.rules {
		var got Ruling
		err := guard(func() (err error) {
			got, err = r.Judge(ctx, *call)
			return err
		})
		if err == nil && strictness(got.Effect) == 2 && got.Effect != RuleAsk {
			err = fmt.Errorf("unknown effect %q", got.Effect)
		}
		if err != nil {
			got = Ruling{Effect: RuleAsk, Rule: got.Rule, Reason: "a rule failed: " + err.Error()}
		}
		if strictness(got.Effect) > strictness(strictest.effect) {
			strictest = ruling{got.Effect, got.Rule, got.Reason}
		}
	}
	return strictest
}

// guard turns a panic of foreign code into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

func (c *Controller) before(ctx context.Context, call *Call) error {
	for i := range c.hooks {
		if h := c.hooks[i].BeforeDecision; h != nil {
			if err := guard(func() error { return h(ctx, *call) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// record runs the AfterDecision hooks, all of them, even for a caller that
// has disconnected.
func (c *Controller) record(ctx context.Context, call *Call, d *Decision) error {
	var errs []error
	ctx = context.WithoutCancel(ctx)
	for i := range c.hooks {
		if h := c.hooks[i].AfterDecision; h != nil {
			errs = append(errs, guard(func() error { return h(ctx, *call, *d) }))
		}
	}
	return errors.Join(errs...)
}

// Begin must succeed before the effect of an approved call: the decision
// holds for digest, which the caller has derived again, and no BeforeExecution
// hook objects.
func (c *Controller) Begin(ctx context.Context, call Call, d Decision, digest string) error {
	if err := d.Holds(digest); err != nil {
		return err
	}
	for i := range c.hooks {
		if h := c.hooks[i].BeforeExecution; h != nil {
			if err := guard(func() error { return h(ctx, call, d) }); err != nil {
				return fmt.Errorf("begin %q: %w", call.Tool, err)
			}
		}
	}
	return nil
}

// End reports the outcome to the AfterExecution hooks.
func (c *Controller) End(ctx context.Context, call Call, d Decision, result error) {
	ctx = context.WithoutCancel(ctx)
	for i := range c.hooks {
		if h := c.hooks[i].AfterExecution; h != nil {
			_ = guard(func() error { h(ctx, call, d, result); return nil })
		}
	}
}
