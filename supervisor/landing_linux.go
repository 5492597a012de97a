package supervisor

import (
	"context"
	"errors"
	"os"
	"slices"

	"sandboxd/files/worker"
	"sandboxd/profile"
	"sandboxd/shell"
	"sandboxd/supervisor/aftermath"
)

// all chooses every part of a change set.
func all(int) bool { return true }

// judge returns the reasons to ask that the project would show after the landing of the chosen parts: entries that the
// profile p protects, and what git would run. granted are protected paths that a person let the change set change.
func (r *layeredRun) judge(
	p profile.Profile, chosen func(int) bool, granted []string, warnings *[]string,
) (asks []landAsk) {
	after := r.l.After(r.sess.Root, chosen)
	found := r.s.seen.Judge(p, aftermath.Landing{
		After: after, Names: after.Names(), Project: r.sess.Root, Granted: granted, Asked: r.shown,
	})
	if found.Partly {
		*warnings = append(*warnings, partlyLooked)
	}
	for _, i := range found.Items {
		asks = append(asks, landAsk{Path: i.Path, Why: i.Why, Guarded: true})
	}
	return asks
}

// shown is the verdict by whose words somebody permitted the command; zero: the policy contained did.
func (j *judgement) shown() (v shell.Verdict) {
	if !j.contained {
		v = j.verdict
	}
	return v
}

// setAsks are the reasons to ask that the chosen parts of the change set show. shown is the verdict on the permitted
// command: what its words show that it deletes is not asked about again.
func (r *layeredRun) setAsks(chosen func(int) bool, shown shell.Verdict) ([]landAsk, error) {
	cfg, _, err := r.s.projectConfig(r.sess)
	if err != nil {
		return nil, err
	}
	set, asks := r.l.Set(), r.s.budgetAsk(r.allSteps(chosen))
	d := deletionsOf(r.sess.Root, r.l.After(r.sess.Root, chosen))
	if !shown.Delete || !shown.Protected {
		asks = append(asks, d.askRepositories(set, chosen)...)
	}
	if !shown.Delete {
		asks = append(asks, d.ask(set.ChangesOf(chosen), cfg.Landing.Deletes, r.ignores)...)
	}
	if cfg.Files.AskBuild {
		c := changedPaths(r.sess.Root, set.ChangesOf(chosen))
		for _, p := range buildFiles(r.sess.Root, slices.Concat(c.Created, c.Modified)) {
			asks = append(asks, landAsk{Path: p, Why: "programs run from it when a person builds ([files] ask_build)"})
		}
	}
	return asks, nil
}

// landJudged lands the chosen parts of the change set of a run, which the order names, unless one asks.
func (r *layeredRun) landJudged(ctx context.Context, w *worker.Client, dir *os.File, j *judgement,
	chosen func(int) bool, order worker.LayerOrder, result *Result) error {
	return r.s.seen.Alone(func() error {
		asks, err := r.setAsks(chosen, j.shown())
		if err != nil {
			return err
		}
		if asks = append(asks, r.judge(j.names, chosen, r.granted, &result.Warnings)...); len(asks) > 0 {
			return &askError{asks}
		}
		return r.move(ctx, w, dir, order)
	})
}

// move lands the judged change set, or the part of it that the order names.
func (r *layeredRun) move(ctx context.Context, w *worker.Client, dir *os.File, order worker.LayerOrder) error {
	had := r.l.At()
	order.Verb, order.Digest = worker.LayerLand, r.l.Set().Digest()
	if _, err := w.Layer(ctx, r.root, dir, order, nil); err != nil {
		return errors.Join(err, r.takeBack(ctx, had))
	}
	return nil
}
