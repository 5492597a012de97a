package ipc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Follow calls take for each event of a command, from those of stream on, until the exit event or until take fails. It
// closes stream. Where the connection is lost it makes another one: the daemon keeps the events. It fails where the
// daemon is gone, and the command with it.
func (c *Client) Follow(ctx context.Context, id string, stream Stream[Event], take func(Event) error) error {
	var err error
	for next, lost := uint64(1), 0; ; {
		for err == nil {
			var e Event
			if e, err = stream.Next(ctx); err != nil {
				break
			}
			next, lost = e.Seq+1, 0
			if err := take(e); err != nil || e.Type == EventExit {
				stream.Close()
				return err
			}
		}
		if stream != nil {
			stream.Close()
		}
		lost++
		if ctx.Err() != nil || lost > 3 || CodeOf(err) != "" || errors.Is(err, ErrNoDaemon) {
			return fmt.Errorf("the daemon is gone, and the command with it; sbx changes has what it wrote, unless it wrote to "+
				"the project itself: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
		stream, err = c.ExecEvents(ctx, EventsRequest{ID: id, FromSeq: next})
	}
}

// Notes say, in lines for a model, what the sandbox refused and what became of files and processes.
func (x *Exit) Notes() (notes []string) {
	for _, v := range x.Violations {
		switch {
		case v.Minor:
			continue
		case v.Kind == "unkept":
			notes = append(notes, fmt.Sprintf("not kept: %s; %s", v.Object, v.Hint))
			continue
		case slices.Contains([]string{"not_landed", "altered", "no_undo"}, v.Kind):
			notes = append(notes, fmt.Sprintf("%s: %s; %s", v.Object, v.Rule, v.Hint))
			continue
		}
		notes = append(notes, strings.TrimSpace(fmt.Sprintf("the sandbox refused %s %s %s", v.Kind, v.Object, v.Hint)))
	}
	for _, q := range x.Quarantined {
		notes = append(notes, fmt.Sprintf("taken out after the run: %s (%s)", q.Path, q.Why))
	}
	switch {
	case x.Job != "":
		notes = append(notes, "left running as job "+x.Job+", until it ends or the session does")
	case x.JobRefused != "":
		notes = append(notes, "what it left running was ended: "+x.JobRefused)
	}
	if len(x.LimitsHit) > 0 {
		notes = append(notes, "limits reached: "+strings.Join(x.LimitsHit, ", "))
	}
	return notes
}
