package ipc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Approvals lists the questions that wait.
func (c *Client) Approvals(ctx context.Context) (ApprovalList, error) {
	return fetch[ApprovalList](ctx, c, "GET", "/v1/approvals")
}

// Approval shows one of them whole.
func (c *Client) Approval(ctx context.Context, r ApprovalRequest) (Approval, error) {
	if err := missing("id", r.ID); err != nil {
		return Approval{}, err
	}
	return fetch[Approval](ctx, c, "GET", pathOf("/v1/approvals", r.ID, "", "typing", flagOf(r.Typing)))
}

// Decide answers one.
func (c *Client) Decide(ctx context.Context, a Answer) (Decided, error) {
	if err := missing("id", a.ID); err != nil {
		return Decided{}, err
	}
	return ask[Decided](ctx, c, "POST", pathOf("/v1/approvals", a.ID, "/decision"), a)
}

// News opens the stream of events. It has no end of its own: when the connection is lost, Next
// returns io.ErrUnexpectedEOF, and it can be opened again after the last Seq.
func (c *Client) News(ctx context.Context, r NewsRequest) (Stream[News], error) {
	ctx, cancel := context.WithCancel(ctx)
	body, err := c.do(ctx, "GET", pathOf("/v1/events", "", "", "after", numberOf(r.After)), nil, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	return &newsReader{lines: newLines(body), body: body, cancel: cancel}, nil
}

// Grants lists the permissions and refusals beyond one call.
func (c *Client) Grants(ctx context.Context) (GrantList, error) {
	return fetch[GrantList](ctx, c, "GET", "/v1/grants")
}

// Grant explains one.
func (c *Client) Grant(ctx context.Context, r GrantRequest) (Grant, error) {
	if err := missing("id", r.ID); err != nil {
		return Grant{}, err
	}
	return fetch[Grant](ctx, c, "GET", pathOf("/v1/grants", r.ID, ""))
}

// Revoke withdraws one.
func (c *Client) Revoke(ctx context.Context, r GrantRequest) error {
	if err := missing("id", r.ID); err != nil {
		return err
	}
	return onlyDone(fetch[Done](ctx, c, "DELETE", pathOf("/v1/grants", r.ID, "")))
}

// Stats counts decisions.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return fetch[Stats](ctx, c, "GET", "/v1/stats")
}

// ResetStats counts from 0 again.
func (c *Client) ResetStats(ctx context.Context) error {
	return onlyDone(fetch[Done](ctx, c, "DELETE", "/v1/stats"))
}

// Advice proposes what would save questions.
func (c *Client) Advice(ctx context.Context) (Advice, error) {
	return fetch[Advice](ctx, c, "GET", "/v1/advice")
}

// Audit reads records.
func (c *Client) Audit(ctx context.Context, r AuditRequest) (AuditPage, error) {
	return fetch[AuditPage](ctx, c, "GET", pathOf("/v1/audit", "", "",
		"session", r.Session, "agent", r.Agent, "tool", r.Tool, "category", r.Category, "decision", r.Decision,
		"exec_id", r.ExecID, "grep", r.Grep,
		"since", timeOf(r.Since), "until", timeOf(r.Until), "after_seq", numberOf(r.AfterSeq),
		"limit", numberOf(uint64(max(r.Limit, 0))), "last", flagOf(r.Last)))
}

// VerifyAudit checks the chain of records.
func (c *Client) VerifyAudit(ctx context.Context, r AuditVerifyRequest) (AuditVerdict, error) {
	return fetch[AuditVerdict](ctx, c, "GET", pathOf("/v1/audit/verify", "", "",
		"anchor_seq", numberOf(r.AnchorSeq), "anchor_hash", r.AnchorHash))
}

// Mode returns the mode of a session, or of the daemon.
func (c *Client) Mode(ctx context.Context, r ModeRequest) (Mode, error) {
	return fetch[Mode](ctx, c, "GET", pathOf("/v1/mode", "", "", "session", r.Session))
}

// SetMode changes it.
func (c *Client) SetMode(ctx context.Context, m Mode) (Mode, error) {
	return ask[Mode](ctx, c, "POST", "/v1/mode", m)
}

// Trusted lists the directories that a person trusts.
func (c *Client) Trusted(ctx context.Context) (TrustList, error) {
	return fetch[TrustList](ctx, c, "GET", "/v1/trust")
}

// Trust adds one.
func (c *Client) Trust(ctx context.Context, r TrustRequest) (Trust, error) {
	return ask[Trust](ctx, c, "POST", "/v1/trust", r)
}

// Invite makes a one-time address of the gateway.
func (c *Client) Invite(ctx context.Context) (Invitation, error) {
	return ask[Invitation](ctx, c, "POST", "/v1/web/invitations", struct{}{})
}

// FrontEnds lists the programs that may use the gateway.
func (c *Client) FrontEnds(ctx context.Context) (FrontEndList, error) {
	return fetch[FrontEndList](ctx, c, "GET", "/v1/web/front_ends")
}

// AddFrontEnd makes a token for one; only this answer contains it.
func (c *Client) AddFrontEnd(ctx context.Context, r FrontEndRequest) (FrontEnd, error) {
	return ask[FrontEnd](ctx, c, "POST", "/v1/web/front_ends", r)
}

// RemoveFrontEnd takes its token out of force.
func (c *Client) RemoveFrontEnd(ctx context.Context, r FrontEndName) error {
	return onlyDone(fetch[Done](ctx, c, "DELETE", pathOf("/v1/web/front_ends", r.Name, "")))
}

// Distrust takes one back.
func (c *Client) Distrust(ctx context.Context, r TrustRequest) error {
	return onlyDone(fetch[Done](ctx, c, "DELETE", pathOf("/v1/trust", "", "", "dir", r.Dir)))
}

// Setting returns a setting as it is in force.
func (c *Client) Setting(ctx context.Context, r SettingRequest) (EffectiveValue, error) {
	return fetch[EffectiveValue](ctx, c, "GET", pathOf("/v1/settings", r.Key, "", "dir", r.Dir))
}

// Change changes the configuration for a project, a session or the user.
func (c *Client) Change(ctx context.Context, r SettingsChange) (SettingsChanged, error) {
	return ask[SettingsChanged](ctx, c, "POST", "/v1/settings", r)
}

// Reload has the configuration read again.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	return fetch[Reloaded](ctx, c, "POST", "/v1/reload")
}

// Shutdown ends the daemon.
func (c *Client) Shutdown(ctx context.Context, r ShutdownRequest) error {
	return onlyDone(ask[Done](ctx, c, "POST", "/v1/shutdown", r))
}

// newsReader is the client's side of Server-Sent Events.
type newsReader struct {
	lines  *bufio.Reader
	body   io.Closer
	cancel context.CancelFunc
}

func (n *newsReader) Next(ctx context.Context) (News, error) {
	if err := ctx.Err(); err != nil {
		return News{}, err
	}
	stop := context.AfterFunc(ctx, n.cancel)
	defer stop()
	event, data := "", []byte(nil)
	for {
		line, err := readLine(n.lines)
		switch {
		case ctx.Err() != nil:
			return News{}, ctx.Err()
		case err == io.EOF:
			return News{}, io.ErrUnexpectedEOF
		case err != nil:
			return News{}, fmt.Errorf("read news: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if rest, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			event = string(rest)
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = append([]byte(nil), rest...)
		}
		if len(line) == 0 && data != nil {
			return parseNews(event, data)
		}
	}
}

func parseNews(event string, data []byte) (News, error) {
	if event == "error" {
		var e errorBody
		if err := json.Unmarshal(data, &e); err != nil || e.Error == nil {
			return News{}, fmt.Errorf("read news: error event %s", strconv.Quote(string(data)))
		}
		return News{}, e.Error
	}
	var v News
	if err := json.Unmarshal(data, &v); err != nil {
		return News{}, fmt.Errorf("read news: %w", err)
	}
	return v, nil
}

func (n *newsReader) Close() error {
	n.cancel()
	return n.body.Close()
}
