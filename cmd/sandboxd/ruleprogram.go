package main

import (
	"context"

	"sandboxd/approval"
	"sandboxd/approval/external"
	"sandboxd/config"
)

// rulePrograms lets the program that the configuration in force names judge every
// call (R-AP-22).
type rulePrograms struct{ config func() *config.Config }

func (r *rulePrograms) Judge(ctx context.Context, call approval.Call) (approval.Ruling, error) {
	path := r.config().Approval.RuleProgram
	if path == "" {
		return approval.Ruling{}, nil
	}
	return (&external.Program{Path: path}).Judge(ctx, call)
}
