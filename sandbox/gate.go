package sandbox

import "sync"

// Gate keeps a command from running, while its sandbox is made ready, until two things
// are done: the start's work meanwhile, and the work that [Gate.Open] reports.
type Gate struct {
	once      sync.Once
	meanwhile func() error

	mu     sync.Mutex
	shut   int   // by how many of both
	err    error // why it stays shut
	opened func(error)
}

// NewGate returns a gate that is shut. The start calls meanwhile, once and in its own
// goroutine, when the sandbox is on its way; nil: there is nothing to do.
func NewGate(meanwhile func() error) *Gate { return &Gate{meanwhile: meanwhile, shut: 2} }

// Open opens it, once; with an error it stays shut, and the start returns that error.
// The last of the two lets the command run, in its own goroutine.
func (g *Gate) Open(err error) { g.agree(err) }

// prepare starts the work meanwhile, once.
func (g *Gate) prepare() {
	if g == nil {
		return
	}
	g.once.Do(func() {
		var err error
		if g.meanwhile != nil {
			err = g.meanwhile()
		}
		g.agree(err)
	})
}

func (g *Gate) agree(err error) {
	g.mu.Lock()
	if g.shut--; g.err == nil {
		g.err = err
	}
	err = g.err
	var tell func(error)
	if g.shut == 0 || err != nil {
		tell, g.opened = g.opened, nil
	}
	g.mu.Unlock()
	if tell != nil {
		tell(err)
	}
}

// then calls f, once, when it is open, or with the reason why it stays shut: at once,
// or in the goroutine of the last of the two.
func (g *Gate) then(f func(error)) {
	g.mu.Lock()
	err, known := g.err, g.shut == 0 || g.err != nil
	if !known {
		g.opened = f
	}
	g.mu.Unlock()
	if known {
		f(err)
	}
}

// wait waits until it is open, or stays shut.
func (g *Gate) wait() error {
	if g == nil {
		return nil
	}
	g.prepare()
	result := make(chan error, 1)
	g.then(func(err error) { result <- err })
	return <-result
}
