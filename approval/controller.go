package approval

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Options set up a Controller. The zero value asks, keeps no persistent
// grants, and has no added rules.
type Options struct {
	// Config is validated; its zero value means DefaultConfig.
	Config Config
	// Store keeps project, agent and global grants; without one those scopes are not
	// on offer.
	Store Store
	Rules []Rule
	Hooks []Hooks
	// Authorize may refuse any answer: here the embedding
	// program keeps the requester from answering (R-IP-01). It must be quick and
	// must not call the controller. Nil refuses nobody.
	Authorize func(by Identity, p Pending) error
	// MaxPending bounds the open questions in all (0: 1024),
	// MaxPendingPrincipal those of one principal (0: 128).
	MaxPending, MaxPendingPrincipal int
	// EventBuffer is how many events each stream keeps (0: 512).
	EventBuffer int
	// Now is the wall clock for lifetimes and records (nil: time.Now).
	// Questions time out by the monotonic clock in any case.
	Now func() time.Time
}

// Controller decides calls. It is safe for concurrent use.
type Controller struct {
	store     Store
	rules     []Rule
	hooks     []Hooks
	authorize func(Identity, Pending) error
	maxAll    int
	maxOne    int
	ringSize  int
	now       func() time.Time

	saving sync.Mutex // held around Store calls; taken before mu
	work   sync.WaitGroup
	closed chan struct{}
	once   sync.Once

	mu         sync.Mutex
	cfg        Config
	sessions   map[SessionRef]*session
	tenants    map[Principal]*tenant
	questions  map[string]*question
	asked      uint64 // questions so far
	operators  map[*approver]bool
	approveAll *allowance // for every session
	stats      Stats
	everything ring
	withdrawn  map[string]bool // grants that the store may still hold
	storeErr   error
}

// tenant is the state of one principal.
type tenant struct {
	grants    grantSet // project, agent and global
	events    ring
	stats     Stats
	agents    map[string]*Stats
	approvers map[*approver]bool
	pending   int
	decided   map[string]*outcome
	order     []string // ids in decided, oldest first
}

// New makes a Controller. A store that can be read only in part is no error;
// StoreErr and a notice event tell of it.
func New(o Options) (*Controller, error) {
	if o.Config == (Config{}) {
		o.Config = DefaultConfig()
	}
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	or := func(n, d int) int {
		if n > 0 {
			return n
		}
		return d
	}
	c := &Controller{
		store: o.Store, rules: o.Rules, hooks: o.Hooks, authorize: o.Authorize, now: o.Now,
		maxAll: or(o.MaxPending, 1024), maxOne: or(o.MaxPendingPrincipal, 128), ringSize: or(o.EventBuffer, 512),
		closed: make(chan struct{}), cfg: o.Config,
		sessions: map[SessionRef]*session{}, tenants: map[Principal]*tenant{},
		questions: map[string]*question{}, operators: map[*approver]bool{}, withdrawn: map[string]bool{},
	}
	c.everything.size = c.ringSize
	if c.now == nil {
		c.now = time.Now
	}
	_ = c.Reload()
	return c, nil
}

func (c *Controller) tenant(p Principal) *tenant {
	t := c.tenants[p]
	if t == nil {
		t = &tenant{agents: map[string]*Stats{}, approvers: map[*approver]bool{}, decided: map[string]*outcome{}}
		t.events.size = c.ringSize
		c.tenants[p] = t
	}
	return t
}

// Configure takes a new configuration for every decision from now on, or
// refuses it and keeps the old one. Open questions are weighed again by it;
// those that still ask keep their time.
func (c *Controller) Configure(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg = cfg
	c.reconsider(func(*question) bool { return true })
	return nil
}

// Close denies every open question, ends every subscription, and waits until
// all work of the controller has ended, or ctx has. It writes use counts to
// the store.
func (c *Controller) Close(ctx context.Context) error {
	c.once.Do(func() {
		c.mu.Lock()
		close(c.closed)
		for _, q := range c.questions {
			c.finish(q, c.denial(q, ReasonCancelled, "the daemon is stopping"))
		}
		c.mu.Unlock()
	})
	err := c.Flush()
	done := make(chan struct{})
	go func() { c.work.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close approvals: %w", context.Cause(ctx))
	}
}

// newID is unguessable: the last 80 bits are random.
func newID() string { return ulid.MustNew(ulid.Now(), rand.Reader).String() }
