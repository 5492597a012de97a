package approval

import (
	"context"
	"strings"
)

// SwitchOn has do switch on the presets that an open question offers, and then closes the question with the reason
// [ReasonAgain]: nobody has decided, and the caller of Decide judges the call again. The answer carries the Rev and the
// Hash that were seen, as a yes does, and takes no scope. Every error, that of do included, leaves the question as it
// was.
func (c *Controller) SwitchOn(
	ctx context.Context, id string, a Answer, do func(presets []string) error,
) (Receipt, error) {
	a.Verb = VerbPresets
	return c.answer(ctx, id, a, func(q *question, a Answer) (Receipt, error) {
		if err := c.takeable(q, &a); err != nil {
			return Receipt{}, err
		}
		claim := make(chan struct{})
		var names []string
		for _, p := range q.call.Presets {
			names = append(names, p.Name)
		}
		q.claim = claim
		c.mu.Unlock()
		err := guard(func() error { return do(names) })
		c.mu.Lock()
		q.claim = nil
		close(claim)
		if err != nil {
			return Receipt{}, &AnswerError{Code: "presets", Why: strings.Join(names, ", ") + " not added", Err: err}
		}
		d := c.denial(q, ReasonAgain, "presets added: "+strings.Join(names, ", ")+"; the request is judged again")
		d.By, d.How, d.Key = a.By, HowPerson, a.Key
		if !c.finish(q, d) {
			return Receipt{}, &DecidedError{Decision: q.final}
		}
		c.tenant(q.call.Principal).decided[q.ID].answer = a
		return Receipt{Decided: true, Decision: d}, nil
	})
}
