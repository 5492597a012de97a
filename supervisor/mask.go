package supervisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxd/approval"
	"sandboxd/secret"
	"sandboxd/shell"
)

// mask removes apparent secrets from everything that people see of a call, and from
// events (R-AU-04). Its payload, by which grants are matched, and its digest stay.
func mask(c *approval.Call) {
	c.Why = secret.Mask(c.Why)
	if c.Blocked != nil {
		c.Blocked = &approval.BlockedError{Reason: secret.Mask(c.Blocked.Reason), Rule: secret.Mask(c.Blocked.Rule)}
	}
	c.Class.RuleText = secret.Mask(c.Class.RuleText)
	if c.Request == nil {
		if c.Payload != nil {
			c.Input = secret.Shown(c.Payload)
		}
		return
	}
	r := *c.Request
	c.Request, c.Input = &r, secret.Shown(r.Payload)
	r.Description = secret.Mask(r.Description)
	r.Reasons = slices.Clone(r.Reasons)
	for i := range r.Reasons {
		r.Reasons[i] = secret.Mask(r.Reasons[i])
	}
	// A pattern is stored as it is, so none with a secret in it is on offer.
	r.Suggestions = slices.DeleteFunc(slices.Clone(r.Suggestions), func(s approval.Suggestion) bool {
		return secret.Mask(s.Label) != s.Label || secret.Mask(fmt.Sprint(s.Pattern)) != fmt.Sprint(s.Pattern)
	})
	r.Presentation = maskedPresentation(r.Presentation)
}

// maskedPresentation masks the presentation of a command. Other contents are the subject of a yes, and
// stay.
func maskedPresentation(p *approval.Presentation) *approval.Presentation {
	if p == nil || p.Kind != approval.KindCommand {
		return p
	}
	shown := *p
	content, at := secret.MaskAt(p.Content)
	shown.Content = content
	if marks, ok := p.Metadata["marks"].(string); ok {
		shown.Metadata = maps.Clone(p.Metadata)
		var moved []string
		for _, mark := range strings.Fields(marks) {
			var from, to int
			if n, _ := fmt.Sscanf(mark, "%d-%d", &from, &to); n == 2 {
				moved = append(moved, fmt.Sprintf("%d-%d", at(from), at(to)))
			}
		}
		shown.Metadata["marks"] = strings.Join(moved, " ")
	}
	return &shown
}

// ShownRequest returns the words of a request as people see them: the line, the words, and the
// requester's claim.
func (e *Exec) ShownRequest() (line string, argv []string, claim string) {
	return secret.Mask(e.Request.Line), secret.Words(e.Request.Argv), secret.Mask(e.Request.Description)
}

// shownCommand is a call that is still to come, in one line.
func shownCommand(line string, argv []string) string {
	if len(argv) > 0 {
		return shell.Quote(secret.Words(argv))
	}
	return secret.Mask(line)
}
