package worker

import (
	"errors"
	"fmt"
	"os"

	"sandboxd/files"
	"sandboxd/internal/fdconn"
	"sandboxd/layer"
)

// layer answers verbLayer.
func (s *server) layer(fds []*os.File, order LayerOrder) (*LayerAnswer, error) {
	if len(fds) < 2 {
		return nil, fmt.Errorf("%d descriptors instead of a root and a layer", len(fds))
	}
	root := fds[0]
	var all []*layer.Layer
	for _, dir := range fds[1:] {
		l, err := layer.Open(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	l, below := all[0], all[1:]
	var err error
	out := &LayerAnswer{}
	switch order.Verb {
	case LayerTake:
		err = l.Take(root, below...)
	case LayerLand:
		if l.Set() == nil || l.Set().Digest() != order.Digest {
			return nil, errors.New("the change set is not the one that was judged")
		}
		judged := func(layer.Change) error { return nil }
		if len(order.Beside) > 0 {
			err = l.LandBeside(root, judged, order.Beside...)
		} else {
			err = l.Land(root, judged, order.Paths...)
		}
	case LayerRevert:
		err = l.Restore(root, order.At)
	case LayerDisplaced:
		if out.Late, err = l.Late(); err == nil {
			err = s.keepDisplaced(l)
		}
	default:
		err = fmt.Errorf("no such act on a layer: %q", order.Verb)
	}
	if conflict := (*layer.ConflictError)(nil); errors.As(err, &conflict) && len(conflict.Conflicts) > 0 {
		out.Conflicts, err = conflict.Conflicts, nil
	}
	if cause := errors.Unwrap(err); cause != nil && (order.Verb == LayerTake || order.Verb == LayerLand) {
		err = cause // without the names that layer and root have for this process
	}
	return out, err
}

// keepDisplaced has the keeper keep the displaced files.
func (s *server) keepDisplaced(l *layer.Layer) error {
	var steps []files.Step
	var open []*os.File
	flush := func(last bool) error {
		err := s.keep(steps, open, last)
		fdconn.Close(open)
		steps, open = nil, nil
		return err
	}
	err := l.Displaced(func(at layer.Name, f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return err
		}
		steps = append(steps, files.Step{Kind: files.PutStep, Path: string(at),
			Before: files.State{Kind: files.File, Size: info.Size()}})
		if open = append(open, f); len(open) < maxFDs {
			return nil
		}
		return flush(false)
	})
	if err != nil {
		fdconn.Close(open)
		return err
	}
	return flush(true)
}
