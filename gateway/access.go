package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"sandboxd/ipc"
)

// How long each secret is good for.
const (
	invitationLife = 2 * time.Minute
	ticketLife     = 30 * time.Second
	browserIdle    = 12 * time.Hour
	maxBrowsers    = 32
	maxInvitations = 32
	maxFrontEnds   = 64
	maxTickets     = 256
)

// sum is the stored hash of a secret.
type sum [sha256.Size]byte

func sumOf(secret string) sum { return sha256.Sum256([]byte(secret)) }

// newSecret returns 256 bits as text, and their sum for the store.
func newSecret() (string, sum) {
	var b [32]byte
	rand.Read(b[:])
	s := base64.RawURLEncoding.EncodeToString(b[:])
	return s, sumOf(s)
}

// browser is a browser with an accepted invitation.
type browser struct {
	key     sum      // of the page's key; the cookie's sum is the map's key
	by      ipc.Peer // the creator of the invitation
	entered time.Time
	used    time.Time
	force   force
}

// force lasts as long as a secret is valid. The connections that the secret opened end with it.
type force struct {
	context.Context
	end context.CancelFunc
}

func inForce() force {
	ctx, end := context.WithCancel(context.Background())
	return force{ctx, end}
}

// frontEnd is a program that asks its users on our behalf.
type frontEnd struct {
	ipc.FrontEnd
	Token string `json:"token_sha256"`
	Maker *maker `json:"maker,omitempty"` // nil: it ended with an earlier boot
	sum   sum
	force force
}

// maker is the process that had a token made. Answers with the token count as its answers: else an
// agent could make itself a front end.
type maker struct {
	Boot      string        `json:"boot"` // its numbers mean nothing in another
	PID       int           `json:"pid"`
	Start     uint64        `json:"start"`
	SID       int           `json:"sid"`
	Ancestors []ipc.Process `json:"ancestors,omitempty"`
}

func makerOf(p ipc.Peer) *maker {
	return &maker{Boot: bootID(), PID: p.PID, Start: p.Start, SID: p.SID, Ancestors: p.Ancestors}
}

// peer is the maker as the interface knows it; it sits at no terminal.
func (f *frontEnd) peer() ipc.Peer {
	p := ipc.Peer{UID: f.UID}
	if m := f.Maker; m != nil {
		p.PID, p.Start, p.SID, p.Ancestors = m.PID, m.Start, m.SID, m.Ancestors
	}
	return p
}

type invitation struct {
	by   ipc.Peer
	ends time.Time
}

type ticket struct {
	browser *browser
	front   *frontEnd
	ends    time.Time
}

// access maps the SHA-256 of every secret: a lookup by it takes no longer for a near miss.
type access struct {
	file string

	mu          sync.Mutex
	invitations map[sum]invitation
	browsers    map[sum]*browser // by the cookie
	tickets     map[sum]ticket
	fronts      map[sum]*frontEnd
}

func openAccess(file string) (*access, error) {
	a := &access{file: file, invitations: map[sum]invitation{}, browsers: map[sum]*browser{}, tickets: map[sum]ticket{},
		fronts: map[sum]*frontEnd{}}
	if file == "" {
		return a, nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read front ends: %w", err)
	}
	var list []*frontEnd
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("read front ends: %s: %w; remove the file to begin again without any", file, err)
	}
	for _, f := range list {
		raw, err := hex.DecodeString(f.Token)
		if err != nil || len(raw) != len(f.sum) {
			return nil, fmt.Errorf("read front ends: %s: %q has no usable token_sha256", file, f.Name)
		}
		copy(f.sum[:], raw)
		if f.Maker != nil && f.Maker.Boot != bootID() {
			f.Maker = nil
		}
		f.force = inForce()
		a.fronts[f.sum] = f
	}
	return a, nil
}

// save writes the front ends; called with mu held.
func (a *access) save() error {
	if a.file == "" {
		return nil
	}
	b, err := json.MarshalIndent(a.list(), "", "  ")
	if err == nil {
		err = renameio.WriteFile(a.file, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("save front ends: %w", err)
	}
	return nil
}

func (a *access) list() []*frontEnd {
	return slices.SortedFunc(maps.Values(a.fronts), func(x, y *frontEnd) int { return strings.Compare(x.Name, y.Name) })
}

// sweep deletes expired secrets; called with mu held.
func (a *access) sweep(now time.Time) {
	maps.DeleteFunc(a.invitations, func(_ sum, i invitation) bool { return now.After(i.ends) })
	maps.DeleteFunc(a.tickets, func(_ sum, t ticket) bool { return now.After(t.ends) })
	maps.DeleteFunc(a.browsers, func(_ sum, b *browser) bool { return now.Sub(b.used) > browserIdle })
}

// invite makes an invitation on behalf of by.
func (a *access) invite(by ipc.Peer) (string, time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.sweep(now)
	if len(a.invitations) >= maxInvitations {
		return "", time.Time{}, &ipc.Error{Code: ipc.CodeLimit, Message: "too many invitations wait to be used",
			Hint: fmt.Sprintf("each is good for %v", invitationLife)}
	}
	secret, s := newSecret()
	ends := now.Add(invitationLife)
	a.invitations[s] = invitation{by, ends}
	return secret, ends, nil
}

// enter uses an invitation up, for a connection of the user that it is for.
func (a *access) enter(secret string, o owner) (cookie, key string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.sweep(now)
	s := sumOf(secret)
	i, ok := a.invitations[s]
	if !ok {
		return "", "", false
	}
	delete(a.invitations, s)
	if !o.may(i.by.UID) {
		return "", "", false
	}
	if len(a.browsers) >= maxBrowsers {
		oldest := sum{}
		for c, b := range a.browsers {
			if o, ok := a.browsers[oldest]; !ok || b.used.Before(o.used) {
				oldest = c
			}
		}
		delete(a.browsers, oldest)
	}
	cookie, c := newSecret()
	key, k := newSecret()
	a.browsers[c] = &browser{key: k, by: i.by, entered: now, used: now, force: inForce()}
	return cookie, key, true
}

// browser returns the browser with this cookie and this key.
func (a *access) browser(cookie, key string) *browser {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.sweep(now)
	b := a.browsers[sumOf(cookie)]
	if b == nil || b.key != sumOf(key) {
		return nil
	}
	b.used = now
	return b
}

// leave deletes a browser, and ends its connections.
func (a *access) leave(b *browser) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.force.end()
	maps.DeleteFunc(a.browsers, func(_ sum, x *browser) bool { return x == b })
	maps.DeleteFunc(a.tickets, func(_ sum, t ticket) bool { return t.browser == b })
}

// front returns the front end with this token.
func (a *access) front(token string) *frontEnd {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fronts[sumOf(token)]
}

// newTicket makes a ticket for one WebSocket of c.
func (a *access) newTicket(c caller) (string, *ipc.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.sweep(now)
	if len(a.tickets) >= maxTickets {
		return "", &ipc.Error{Code: ipc.CodeLimit, Message: "too many tickets wait to be used"}
	}
	secret, s := newSecret()
	a.tickets[s] = ticket{c.browser, c.front, now.Add(ticketLife)}
	return secret, nil
}

// redeem uses a ticket up.
func (a *access) redeem(secret string) (caller, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep(time.Now())
	s := sumOf(secret)
	t, ok := a.tickets[s]
	delete(a.tickets, s)
	if t.front != nil && a.fronts[t.front.sum] != t.front {
		return caller{}, false
	}
	return caller{browser: t.browser, front: t.front}, ok
}

// Invite makes a one-time address for the person behind by.
func (g *Gateway) Invite(by ipc.Peer) (ipc.Invitation, error) {
	secret, ends, err := g.access.invite(by)
	if err != nil {
		return ipc.Invitation{}, err
	}
	// In the fragment, which goes into no request, log or Referer.
	return ipc.Invitation{URL: g.URL() + "#" + secret, Address: g.URL(), Expires: ends}, nil
}

// FrontEnds lists those of a user.
func (g *Gateway) FrontEnds(uid int) []ipc.FrontEnd {
	g.access.mu.Lock()
	defer g.access.mu.Unlock()
	out := []ipc.FrontEnd{}
	for _, f := range g.access.list() {
		if f.UID == uid {
			out = append(out, f.FrontEnd)
		}
	}
	return out
}

// AddFrontEnd makes a token; only the answer contains it.
func (g *Gateway) AddFrontEnd(by ipc.Peer, r ipc.FrontEndRequest) (ipc.FrontEnd, error) {
	a := g.access
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.fronts) >= maxFrontEnds {
		return ipc.FrontEnd{}, &ipc.Error{Code: ipc.CodeLimit,
			Message: fmt.Sprintf("there are %d front ends already", len(a.fronts)), Hint: "sbx web rm NAME takes one out"}
	}
	for _, f := range a.fronts {
		if f.Name == r.Name {
			return ipc.FrontEnd{}, &ipc.Error{Code: ipc.CodeConflict,
				Message: fmt.Sprintf("there is a front end %q already", r.Name), Hint: "sbx web rm " + r.Name + " takes it out"}
		}
	}
	secret, s := newSecret()
	f := &frontEnd{FrontEnd: ipc.FrontEnd{Name: r.Name, Role: r.Role, UID: by.UID, Created: time.Now()},
		Token: hex.EncodeToString(s[:]), Maker: makerOf(by), sum: s, force: inForce()}
	a.fronts[s] = f
	if err := a.save(); err != nil {
		delete(a.fronts, s)
		return ipc.FrontEnd{}, err
	}
	out := f.FrontEnd
	out.Token = ipc.Secret(secret)
	return out, nil
}

// RemoveFrontEnd revokes a front end's token, and ends its connections.
func (g *Gateway) RemoveFrontEnd(uid int, name string) error {
	a := g.access
	a.mu.Lock()
	defer a.mu.Unlock()
	for s, f := range a.fronts {
		if f.Name != name || f.UID != uid {
			continue
		}
		delete(a.fronts, s)
		if err := a.save(); err != nil {
			a.fronts[s] = f
			return err
		}
		f.force.end()
		return nil
	}
	return &ipc.Error{Code: ipc.CodeNotFound, Message: fmt.Sprintf("there is no front end %q", name),
		Hint: "sbx web ls lists them"}
}
