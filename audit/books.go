package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
)

// Books are the logs of several users below one directory, one chain each in a
// directory named by the user's number.
type Books struct {
	Dir     string
	Options Options

	mu     sync.Mutex
	logs   map[int]*Log
	closed bool
}

// For is the log of a user, opened at first use.
func (b *Books) For(uid int) (*Log, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("open log of user %d: %w", uid, ErrClosed)
	}
	if l, ok := b.logs[uid]; ok {
		return l, nil
	}
	l, err := Open(b.dir(uid), b.Options)
	if err != nil {
		return nil, err
	}
	if b.logs == nil {
		b.logs = map[int]*Log{}
	}
	b.logs[uid] = l
	return l, nil
}

func (b *Books) dir(uid int) string { return filepath.Join(b.Dir, strconv.Itoa(uid)) }

// Close closes every log that was opened.
func (b *Books) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var errs []error
	for _, l := range b.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
