package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/files/worker"
	"sandboxd/layer"
)

// errUnread is why a layer is held that its daemon's end kept from being read.
var errUnread = errors.New("the daemon ended before what the command wrote was read; it is read now")

// readers are those who read layers after a death, of which a large one takes long: one at a time for each. The zero
// value is ready for use. Lock order: settling, then a layer's reader, who takes no other.
type readers struct {
	mu sync.Mutex
	of map[string]*reader // by run
}

type reader struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// begin waits until nobody reads the layer of a run. The returned context ends with the next [readers.replace]; call
// end when the layer is read.
func (r *readers) begin(ctx context.Context, exec string) (reads context.Context, end func(), err error) {
	for {
		r.mu.Lock()
		other := r.of[exec]
		if other == nil {
			one := &reader{ended: make(chan struct{})}
			reads, one.stop = context.WithCancel(ctx)
			if r.of == nil {
				r.of = map[string]*reader{}
			}
			r.of[exec] = one
			r.mu.Unlock()
			return reads, func() { r.end(exec, one) }, nil
		}
		r.mu.Unlock()
		select {
		case <-other.ended:
		case <-ctx.Done():
			return nil, nil, errors.New("it is still being read: try again later, or drop it")
		}
	}
}

func (r *readers) end(exec string, one *reader) {
	one.stop()
	r.mu.Lock()
	delete(r.of, exec)
	r.mu.Unlock()
	close(one.ended)
}

// replace has whoever reads the layer of a run stop, and keeps others from it until end is called.
func (r *readers) replace(exec string) (end func()) {
	r.mu.Lock()
	if other := r.of[exec]; other != nil {
		other.stop()
	}
	r.mu.Unlock()
	_, end, _ = r.begin(context.Background(), exec) // which waits for that end
	return end
}

// readLayers reads the layers of runs that an earlier daemon's end cut off. Commands run meanwhile: what they land
// there is a conflict of the change set.
func (s *Supervisor) readLayers(dirs []string) {
	done := sync.OnceFunc(func() { close(s.read) })
	defer done()
	defer time.AfterFunc(settleWait, done).Stop() // lists no longer wait
	for _, dir := range dirs {
		note, err := readNote(dir)
		if err != nil || s.ctx.Err() != nil {
			continue // dropped meanwhile
		}
		rec := audit.Record{Category: audit.File, Operation: "settle", ExecID: note.Exec, Subject: note.Project}
		if err := s.readLayer(dir, note); err != nil {
			rec.Error = err.Error()
		}
		if _, note, err := s.heldNote(heldID(note.Exec)); err == nil {
			set, c := s.heldSet(note, approval.ChangeHeld)
			s.publish(note.Record, nil, set, c)
		}
		if s.record(rec) != nil {
			return // nothing is done unrecorded
		}
	}
}

// readLayer makes the change set of a layer, and returns why that is held.
func (s *Supervisor) readLayer(dir string, note layerNote) error {
	ctx, end, err := s.readers.begin(s.ctx, note.Exec)
	if err != nil {
		return err
	}
	defer end()
	sess, err := s.sessionOf(note.Record)
	if err != nil {
		return err
	}
	r := s.layeredRunOf(sess, dir, note)
	if r.root, err = openRoot(sess.Root); err != nil {
		return err
	}
	defer r.root.Close()
	if err = r.reopen(); err != nil || r.l.Set() != nil { // somebody looked at it meanwhile
		return err
	}
	note.Held = "" // it is read now
	if r.held, err = s.layersOf(r.above); err == nil {
		err = r.reader(ctx, func(w *worker.Client, dir *os.File) error { return r.take(ctx, w, dir) })
	}
	if err == nil {
		return r.heldByDeath(note)
	}
	if ctx.Err() == nil { // else it is dropped, or the next daemon reads it
		err = errors.Join(err, r.note(cmp.Or(note.Held, err.Error())))
	}
	return err
}

// takeAgain makes the change set of a layer that could not be read before.
func (r *layeredRun) takeAgain() (err error) {
	wait, cancel := context.WithTimeout(r.s.ctx, settleWait)
	defer cancel()
	_, end, err := r.s.readers.begin(wait, r.rec.Exec)
	if err != nil {
		return err
	}
	defer end()
	if err = r.reopen(); err != nil || r.l.Set() != nil {
		return err
	}
	if r.l.Status() != layer.Mounted {
		return fmt.Errorf("its layer is %v", r.l.Status())
	}
	if r.held, err = r.s.layersOf(r.above); err != nil {
		return err
	}
	return r.reader(r.s.ctx, func(w *worker.Client, dir *os.File) error { return r.take(r.s.ctx, w, dir) })
}
