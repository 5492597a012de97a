package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/shell"
	"sandboxd/shell/presets"
)

// Advice proposes additions to the user's configuration that avoid questions, by the newest records of
// the log.
type Advice struct {
	Decisions int // that were looked at
	Asked     int // of these, how often a person was asked
	Refused   int // connections to hosts that are on no list
	Proposals []Proposal
}

// Proposal is one value for a list of the configuration, or a directory to trust.
type Proposal struct {
	List  string // config.Adjustable, or TrustContained
	Value string
	// Questions and Refusals are how many of the recorded ones there would not have been, beyond those that
	// the proposals before it save.
	Questions, Refusals int
	Permits             string // besides, in one sentence
}

// TrustContained is the List of a directory for `sbx trust --contained`.
const TrustContained = "trust.contained"

// Bounds of advice.
const (
	adviceRecords  = 10_000
	adviceCommands = 200 // distinct ones
	maxProposals   = 10
	leastSaved     = 2 // questions or refusals
)

// wanted is a command, or a connection, of the log, once however often it is there.
type wanted struct {
	command    shell.Command
	sess       *Session
	host       string   // HOST:PORT of a connection; "": a command
	words      []string // of the only simple command that asks, where it is one
	asked      int
	refused    int
	answeredNo bool
	never      bool // it is dangerous, secret or protected: no proposal may let it run
	contained  bool // by its words
}

// Advise reads the newest records and judges their commands again under each proposal (R-UX-08). It
// proposes nothing that would have permitted a command that a person refused, or a dangerous, secret or
// protected one.
func (s *Supervisor) Advise(ctx context.Context, peer Peer) (Advice, error) {
	a := Advice{Proposals: []Proposal{}}
	list, err := s.triedBefore(ctx, peer, &a)
	if err != nil {
		return a, err
	}
	type scored struct {
		Proposal
		saves []int // of list
	}
	var open []scored
	for _, p := range s.candidates(list) {
		if saves, ok := s.replay(ctx, p, list); ok && len(saves) > 0 {
			open = append(open, scored{p, saves})
		}
	}
	saved := make([]bool, len(list))
	for len(a.Proposals) < maxProposals && ctx.Err() == nil {
		for i := range open {
			o := &open[i]
			o.Questions, o.Refusals = 0, 0
			for _, n := range o.saves {
				if !saved[n] {
					o.Questions, o.Refusals = o.Questions+list[n].asked, o.Refusals+list[n].refused
				}
			}
		}
		slices.SortStableFunc(open, func(a, b scored) int {
			return cmp.Compare(b.Questions+b.Refusals, a.Questions+a.Refusals)
		})
		if len(open) == 0 || open[0].Questions+open[0].Refusals < leastSaved {
			break
		}
		a.Proposals = append(a.Proposals, open[0].Proposal)
		for _, n := range open[0].saves {
			saved[n] = true
		}
		open = open[1:]
	}
	return a, ctx.Err()
}

// triedBefore reads the log: the commands and connections that were asked about or refused.
func (s *Supervisor) triedBefore(ctx context.Context, peer Peer, a *Advice) ([]*wanted, error) {
	by := map[string]*wanted{}
	var list []*wanted
	add := func(key string, make func() *wanted) *wanted {
		t, ok := by[key]
		if !ok && len(list) < adviceCommands {
			if t = make(); t != nil {
				list = append(list, t)
			}
			by[key] = t
		}
		return t
	}
	decisions, err := s.Audit.Query(audit.Filter{Category: audit.Decision, Limit: adviceRecords, Last: true})
	if err != nil {
		return nil, err
	}
	slices.Reverse(decisions.Entries) // the newest commands are those that count
	for _, e := range decisions.Entries {
		if e.Peer == nil || e.Peer.UID != peer.UID {
			continue
		}
		a.Decisions++
		if e.How != "person" && e.Reason != "timeout" && e.Reason != "no_approver" {
			continue
		}
		a.Asked++
		var t *wanted
		switch e.Tool {
		case "bash":
			t = add(
				fmt.Sprintf("%q %q %q", e.Subject, e.Argv, e.Cwd),
				func() *wanted { return s.triedCommand(ctx, peer, e.Record) },
			)
		case NetworkTool:
			host := hostOf(e.Input)
			t = add(host, func() *wanted { return s.triedHost(host) })
		}
		if t != nil {
			t.asked++
			t.answeredNo = t.answeredNo || e.How == "person" && e.Decision != "approved"
		}
	}
	ends, err := s.Audit.Query(audit.Filter{Category: audit.Execution, Limit: adviceRecords, Last: true})
	if err != nil {
		return nil, err
	}
	for _, e := range ends.Entries {
		for _, r := range e.Network {
			if e.Peer == nil || e.Peer.UID != peer.UID || r.Refused == 0 || r.Connections > 0 {
				continue
			}
			a.Refused++
			if t := add(r.Target, func() *wanted { return s.triedHost(r.Target) }); t != nil {
				t.refused++
			}
		}
	}
	return list, nil
}

// triedCommand judges a recorded command under the configuration in force; nil: it would not be asked about
// now, or can not be judged any longer.
func (s *Supervisor) triedCommand(ctx context.Context, peer Peer, r audit.Record) *wanted {
	sess, err := s.Unregistered(peer, r.Cwd)
	if err != nil || len(r.Cut) > 0 {
		return nil
	}
	t := &wanted{
		sess:    sess,
		command: shell.Command{Line: r.Subject, Argv: r.Argv, Cwd: r.Cwd, Project: sess.Root, Home: sess.Home},
	}
	if len(r.Argv) > 0 {
		t.command.Line = ""
	}
	c, err := s.compile(sess)
	if err != nil {
		return nil
	}
	v := c.verdict(ctx, t.command, s.lookUp(c.cfg, sess, s.trusted(sess, c.cfg)))
	holds := s.containedPolicy(sess, c.cfg)
	if v.Decision == shell.Auto || holds && v.Contained {
		return nil
	}
	t.never = v.Danger || v.Protected || v.Hidden || v.Decision == shell.Block
	t.contained = !holds && v.Contained && s.trusted(sess, c.cfg) && permitsContained(c.cfg.Approval)
	if asks, _ := v.Payload["asks"].([]any); len(asks) == 1 {
		t.words, _ = asks[0].([]string)
	}
	return t
}

// triedHost is a connection to a host that is not on the list; nil: it is now, or may never be.
func (s *Supervisor) triedHost(host string) *wanted {
	name, _, err := net.SplitHostPort(host)
	if err != nil || s.Config().Network.Permits(host) || net.ParseIP(name) != nil || name == "localhost" {
		return nil // an address does not identify its owner
	}
	return &wanted{host: host}
}

// hostOf reads the target of a question about a connection.
func hostOf(input json.RawMessage) string {
	var t struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	if json.Unmarshal(input, &t) != nil {
		return ""
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
}

// candidates are the proposals that might save something, presets before unreviewed entries, and the
// narrower of two beginnings first.
func (s *Supervisor) candidates(list []*wanted) (all []Proposal) {
	for _, p := range presets.All() {
		all = append(
			all,
			Proposal{List: config.UsedPresets, Value: p.Name, Permits: p.Title + ", inside the sandbox"},
		)
	}
	asked := map[string]int{}
	var beginnings []string
	for _, t := range list {
		var p Proposal
		switch {
		case t.answeredNo || t.never:
		case t.host != "":
			p = Proposal{
				List:    config.ReachableHost,
				Value:   t.host,
				Permits: "every command that has the proxy reaches it",
			}
		case t.contained:
			p = Proposal{
				List:    TrustContained,
				Value:   t.sess.Root,
				Permits: "whatever stays in the project and can be undone",
			}
		}
		if p.List != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
		for _, b := range t.beginnings() {
			if asked[b] == 0 {
				beginnings = append(beginnings, b)
			}
			asked[b] += t.asked
		}
	}
	slices.SortStableFunc(beginnings, func(a, b string) int {
		return cmp.Or(cmp.Compare(asked[b], asked[a]), cmp.Compare(len(b), len(a)))
	})
	for _, b := range beginnings[:min(len(beginnings), 2*maxProposals)] {
		all = append(
			all,
			Proposal{List: config.AllowedCalls, Value: "Bash(" + b + " *)", Permits: "every command that begins so"},
		)
	}
	return all
}

// unpermitted are programs of which a beginning would permit any command, or an irreversible one.
var unpermitted = strings.Fields(
	"sh bash dash zsh fish env sudo su doas xargs find eval exec nohup timeout time nice python " +
		"python3 node perl ruby php lua awk sed ssh scp rsync curl wget rm mv dd chmod chown ln kill docker podman kubectl " +
		"systemctl tee npx sbx sandboxd",
)

// beginnings are those of the one simple command that asks, of two or three words.
func (t *wanted) beginnings() (all []string) {
	if t.answeredNo || t.never || len(t.words) == 0 || slices.Contains(unpermitted, t.words[0]) {
		return nil
	}
	for n := 2; n <= min(3, len(t.words)); n++ {
		if word := t.words[n-1]; strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t\n*?[]()'\"\\$`") {
			break
		}
		all = append(all, strings.Join(t.words[:n], " "))
	}
	return all
}

// replay returns the questions that a proposal would have saved; false: it may not be proposed.
func (s *Supervisor) replay(ctx context.Context, p Proposal, list []*wanted) (saves []int, ok bool) {
	var cfg *config.Config
	if p.List != TrustContained {
		var err error
		if cfg, err = config.With(s.paths, p.List, p.Value); err != nil {
			return nil, false
		}
	}
	for i, t := range list {
		if ctx.Err() != nil {
			return nil, false
		}
		runs := false
		switch {
		case cfg == nil:
			runs = t.contained && t.sess.Root == p.Value
		case t.host != "":
			runs = p.List == config.ReachableHost && cfg.Network.Permits(t.host)
		case p.List != config.ReachableHost:
			c, err := s.compileFrom(cfg, t.sess)
			runs = err == nil && c.verdict(ctx, t.command, s.lookUp(cfg, t.sess, s.trusted(t.sess, cfg))).Decision == shell.Auto
		}
		if runs && (t.answeredNo || t.never) {
			return nil, false
		}
		if runs {
			saves = append(saves, i)
		}
	}
	return saves, true
}
