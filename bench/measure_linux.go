package main

import (
	"fmt"
	"slices"
	"time"
)

// way is one way to do the measured work.
type way struct {
	name string
	run  func() error
}

// timing is how long the runs of a way took, in order of length.
type timing struct {
	name  string
	times []time.Duration
}

func (t timing) at(part float64) time.Duration { return t.times[int(part*float64(len(t.times)-1))] }
func (t timing) median() time.Duration         { return t.at(0.5) }

// interleaved measures the ways in turns. Each begins once the work that follows the previous
// one is done: the daemon prepares the next sandbox after a command, which occupies a processor.
func interleaved(runs int, ways []way) ([]timing, error) {
	out := make([]timing, len(ways))
	for i, w := range ways {
		out[i].name = w.name
		for range 3 { // nothing is cold for the first run alone
			if err := w.run(); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	for range runs {
		for i, w := range ways {
			settle()
			start := time.Now()
			if err := w.run(); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			out[i].times = append(out[i].times, time.Since(start))
		}
	}
	for _, t := range out {
		sortTimes(t.times)
	}
	return out, nil
}

func sortTimes(times []time.Duration) { slices.Sort(times) }
