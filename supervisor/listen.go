package supervisor

import (
	"time"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/sandbox"
)

// listenTimeout is how long an execution waits for somebody to follow it.
const listenTimeout = 10 * time.Second

// Listen says that somebody follows the execution. The returned function says
// that they have left; unless the request was to keep it, the execution ends
// with its last listener.
func (e *Exec) Listen() (leave func()) {
	e.mu.Lock()
	e.readers++
	e.mu.Unlock()
	return func() {
		e.mu.Lock()
		e.readers--
		left := e.readers == 0
		e.mu.Unlock()
		if left {
			e.abandonUnlessKept()
		}
	}
}

func (e *Exec) abandonUnlessKept() {
	if !e.Request.Keep && !e.ended() {
		e.Cancel(sandbox.EndClient)
	}
}

// expectListener ends an execution that nobody came to follow, unless it ends before.
func (e *Exec) expectListener() {
	e.unheard = time.AfterFunc(listenTimeout, func() {
		e.mu.Lock()
		nobody := e.readers == 0
		e.mu.Unlock()
		if nobody {
			e.abandonUnlessKept()
		}
	})
}

// ask notifies the listeners of a question and remembers its content.
func (e *Exec) ask(p approval.Pending, j *judgement) {
	e.mu.Lock()
	e.rule = j.verdict.Rule
	if e.asked.IsZero() {
		e.asked = time.Now()
	}
	if j.plan != nil {
		e.shown, e.report = j.plan.Profile, j.plan.Report
		e.digest = e.shown.Digest().String()
	}
	e.mu.Unlock()
	e.log.add(Event{Kind: EventAsked, Pending: &p})
}

// Rule is the rule that made it ask, and its place; "" before a question was put.
func (e *Exec) Rule() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rule
}

// waited is how long the question has been open.
func (e *Exec) waited() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked.IsZero() {
		return 0
	}
	return time.Since(e.asked)
}

// Shown is the profile and the enforcement that the question showed; false
// before a question was put.
func (e *Exec) Shown() (p profile.Profile, report sandbox.Report, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shown, e.report, e.digest != ""
}

// judgeTool judges by the configuration's table of tools and by the
// project's; the stricter answer counts.
func judgeTool(cfg *config.Config, c approval.Context) (approval.Class, *approval.Request,
	*approval.BlockedError, error) {
	table, err := approval.NewToolTable(toolsConfig(cfg.Tools, cfg.Shell.Permissions))
	if err != nil {
		return approval.Class{}, nil, nil, err
	}
	class, request, blocked := table.Judge(c)
	if cfg.Project.File == "" || blocked != nil {
		return class, request, blocked, nil
	}
	own, err := approval.NewToolTable(toolsConfig(cfg.Project.Tools, cfg.Project.Shell.Permissions))
	if err != nil {
		return class, request, blocked, err
	}
	if pc, pr, pb := own.Judge(c); pb != nil || pc.Rule == approval.RuleDeny || pc.Rule == approval.RuleAsk {
		return pc, pr, pb, nil
	}
	return class, request, blocked, nil
}
