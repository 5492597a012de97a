package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sandboxd/audit"
	"sandboxd/ipc"
)

func (b *backend) Audit(_ context.Context, _ ipc.Caller, r ipc.AuditRequest) (ipc.AuditPage, error) {
	grep, err := grepOf(r.Grep)
	if err != nil {
		return ipc.AuditPage{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "grep: " + err.Error()}
	}
	if r.Category != "" && !slices.Contains(audit.Categories, r.Category) {
		return ipc.AuditPage{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("category %q: want %s", r.Category,
			strings.Join(audit.Categories, ", "))}
	}
	page, err := b.audit.Query(audit.Filter{Session: r.Session, Agent: r.Agent, Tool: r.Tool, Category: r.Category,
		ExecID: r.ExecID, Grep: grep, Decision: r.Decision, Since: r.Since, Until: r.Until, AfterSeq: r.AfterSeq,
		Limit: r.Limit, Last: r.Last})
	if err != nil {
		return ipc.AuditPage{}, wireError(err)
	}
	answer := ipc.AuditPage{Records: []json.RawMessage{}, More: page.More}
	for _, e := range page.Entries {
		answer.Records = append(answer.Records, e.Raw)
	}
	for _, bad := range page.Bad {
		answer.Bad = append(answer.Bad, bad.Text())
	}
	return answer, nil
}

func (b *backend) VerifyAudit(_ context.Context, _ ipc.Caller, r ipc.AuditVerifyRequest) (ipc.AuditVerdict, error) {
	var anchors []audit.Anchor
	if r.AnchorSeq != 0 || r.AnchorHash != "" {
		one, err := audit.ParseAnchor(audit.Anchor{Seq: r.AnchorSeq, Hash: r.AnchorHash}.String())
		if err != nil || r.AnchorSeq == 0 {
			return ipc.AuditVerdict{}, &ipc.Error{Code: ipc.CodeBadRequest,
				Message: "anchor_seq and anchor_hash: want both, the hash with 64 hexadecimal digits"}
		}
		anchors = append(anchors, one)
	}
	sum, err := b.audit.Verify(anchors...)
	v := ipc.AuditVerdict{OK: err == nil, Records: sum.Records, Seq: sum.Head.Seq, Hash: sum.Head.Hash}
	var bad *audit.BadRecord
	switch {
	case errors.As(err, &bad):
		v.File, v.Line, v.BadSeq, v.Problem = bad.File, bad.Line, bad.Seq, bad.Error()
	case err != nil:
		return v, wireError(err)
	}
	return v, nil
}
