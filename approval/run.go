package approval

import (
	"context"
	"errors"
	"fmt"
)

// Work is one tool call of a program that uses a Controller by itself.
type Work struct {
	// Call names principal, session and all else that is known; Run fills in
	// Tool, Payload, Request and Blocked from Context and Check.
	Call    Call
	Context Context
	// Check is the tool's own word; nil is a bare function, which just runs.
	Check Checker
	// Do is the effect.
	Do func(ctx context.Context) error
}

// DeniedError is the refusal of a call, ready to be handed to a model.
type DeniedError struct {
	Tool     string
	Decision Decision
}

func (e *DeniedError) Error() string { return e.Decision.ForAgent(e.Tool) }

// Run checks, decides, and where approved does. The error is a *DeniedError
// where it was refused, and otherwise Do's own.
func (c *Controller) Run(ctx context.Context, w Work) (Decision, error) {
	call := w.Call
	call.Tool, call.Payload, call.Request, call.Blocked = w.Context.Tool, w.Context.Args, nil, nil
	if w.Check != nil {
		var err error
		call.Request, err = check(w.Check, w.Context)
		if err != nil && !errors.As(err, &call.Blocked) {
			return Decision{Outcome: Denied, Reason: ReasonFault, Layer: LayerSystem, Why: err.Error()},
				fmt.Errorf("check %q: %w", call.Tool, err)
		}
		if r := call.Request; r != nil {
			call.Tool = r.Tool
		}
	}
	d, err := c.Decide(ctx, call)
	if err != nil {
		return d, err
	}
	if !d.Approved {
		return d, &DeniedError{call.Tool, d}
	}
	if err := c.Begin(ctx, call, d, call.Digest); err != nil {
		return d, err
	}
	err = w.Do(ctx)
	c.End(ctx, call, d, err)
	return d, err
}

func check(t Checker, c Context) (r *Request, err error) {
	err = guard(func() (err error) {
		r, err = t.CheckApproval(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}
