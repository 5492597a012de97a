package main

import (
	"context"

	"sandboxd/approval"
	"sandboxd/ipc"
)

// addPresets switches on the presets of a question, as `sbx preset add` does: in the configuration of the daemon's own
// user, for that user alone.
func (b *backend) addPresets(
	ctx context.Context, c ipc.Caller, a ipc.Answer, answer approval.Answer,
) (ipc.Decided, error) {
	if a.Allow {
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "presets are no part of a yes",
			Hint: "send presets with allow false, and answer the question that follows"}
	}
	if c.Peer.UID != servedUser() {
		return ipc.Decided{}, &ipc.Error{Code: ipc.CodeForbidden,
			Message: "presets are added by the user whose configuration it is", Hint: "that user runs sbx preset add"}
	}
	answer.Mode = ""
	receipt, err := b.approvals.SwitchOn(ctx, a.ID, answer, func(names []string) error {
		if err := b.sup.UsePresets(answer.By, a.ID, names); err != nil {
			return err
		}
		return b.reload()
	})
	if err != nil {
		return ipc.Decided{}, wireError(err)
	}
	d := wireDecided(receipt.Decision)
	d.ID = a.ID
	return d, nil
}
