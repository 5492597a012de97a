package supervisor

import (
	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/shell"
)

// toolsConfig is the [tools] section in the approval room's words, with the
// entries of [permissions] that are about whole tools (R-SH-05).
func toolsConfig(t config.Tools, p shell.Permissions) approval.ToolsConfig {
	c := approval.ToolsConfig{Unknown: t.Unknown}
	for _, r := range t.Rules {
		c.Rules = append(c.Rules, approval.ToolRule{Tool: r.Tool, When: r.When, Decision: approval.RuleEffect(r.Decision),
			Reason: r.Description, Origin: r.Origin.String()})
	}
	for _, l := range []struct {
		list   []shell.Permission
		effect approval.RuleEffect
	}{{p.Deny, approval.RuleDeny}, {p.Ask, approval.RuleAsk}, {p.Allow, approval.RuleAllow}} {
		for _, e := range l.list {
			if e.Any { // the text in parentheses is the shell tool's
				c.Rules = append(c.Rules, approval.ToolRule{Tool: e.Tool, When: e.When, Decision: l.effect, Origin: e.Origin,
					Operator: e.Operator})
			}
		}
	}
	return c
}
