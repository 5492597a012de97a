package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"sandboxd/approval/external"
)

// receiver delivers notices to one place. deliver is called by one goroutine.
type receiver interface {
	name() string
	deliver(ctx context.Context, n Notice) error
}

const (
	// queued bounds the notices that wait for one receiver.
	queued = 16
	// patience bounds the delivery of one notice, repetitions included.
	patience = 30 * time.Second
)

// open starts the receivers of cfg and returns the function that hands a notice to each of them without blocking.
func open(ctx context.Context, cfg Config, problems *problems) func(Notice) {
	var list []receiver
	if cfg.Desktop {
		list = append(list, &desktop{life: ctx, ids: map[string]uint32{}})
	}
	if cfg.Terminal != "" {
		list = append(list, &terminal{form: cfg.Terminal, paths: devices})
	}
	if cfg.Command != "" {
		list = append(list, command(cfg.Command))
	}
	for _, w := range cfg.Webhooks {
		list = append(list, &webhook{Webhook: w, pause: time.Second})
	}
	var queues []chan Notice
	for _, r := range list {
		queue := make(chan Notice, queued)
		queues = append(queues, queue)
		go serve(ctx, r, queue, problems)
	}
	return func(n Notice) {
		for i, queue := range queues {
			select {
			case queue <- n:
			default:
				problems.set(list[i].name(), fmt.Errorf("%d notices wait, one was dropped", queued))
			}
		}
	}
}

// serve delivers notices to r until ctx ends.
func serve(ctx context.Context, r receiver, queue chan Notice, problems *problems) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-queue:
			one, cancel := context.WithTimeout(ctx, patience)
			err := r.deliver(one, n)
			cancel()
			if ctx.Err() == nil {
				problems.set(r.name(), err)
			}
		}
	}
}

// problems are the last errors of receivers, by name.
type problems struct {
	mu   sync.Mutex
	last map[string]string
}

func (p *problems) set(name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, name)
	if err != nil {
		if p.last == nil {
			p.last = map[string]string{}
		}
		p.last[name] = fmt.Sprintf("%s: %v (since %s)", name, err, time.Now().Format("15:04:05"))
	}
}

func (p *problems) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = nil
}

func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, line := range p.last {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// command is a program of the user's.
type command string

func (c command) name() string { return "command " + string(c) }

func (c command) deliver(ctx context.Context, n Notice) error {
	in, err := json.Marshal(n)
	if err != nil {
		return err
	}
	program := external.Program{Path: string(c), Timeout: patience}
	_, err = program.Run(ctx, append(in, '\n'))
	return err
}
