package acceptance

import (
	"encoding/json"
	"fmt"

	"sandboxd/approval"
	"sandboxd/ipc"
)

// record is the decision as the audit log has it.
type record struct {
	CallID   string              `json:"call_id"`
	Decision approval.Outcome    `json:"decision"`
	Reason   approval.Reason     `json:"reason"`
	How      approval.How        `json:"how"`
	Grant    string              `json:"grant"`
	Note     string              `json:"note"`
	Key      string              `json:"key"`
	Mode     approval.RejectMode `json:"mode"`
}

// heard compares what the agent heard with what is on record.
func (p *performance) heard(m *made) error {
	if m.record != nil || m.err != nil {
		return m.err
	}
	page, err := p.st.person().Audit(p.t.Context(),
		ipc.AuditRequest{Session: m.session.id, Category: "decision", Limit: 1000})
	if err != nil {
		return err
	}
	for _, raw := range page.Records {
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
		if r.CallID == m.call.Name {
			m.record = &r
		}
	}
	switch {
	case m.record == nil:
		return fmt.Errorf("call %q: its decision is not on record", m.call.Name)
	case (m.record.Decision == approval.Approved) != m.allowed:
		return fmt.Errorf("call %q: the agent heard %t, and on record it is %s", m.call.Name, m.allowed, m.record.Decision)
	case m.key != "" && m.record.Key != m.key:
		return fmt.Errorf("call %q: answered with %q, and on record with %q", m.call.Name, m.key, m.record.Key)
	}
	return nil
}
