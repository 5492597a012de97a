package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// removedOld is the operation of the record that accounts for files that were
// removed because of their age.
const removedOld = "removed-old"

// removeOld removes the oldest files beyond Options.Keep. A record precedes each removal; one that
// failed, or that a crash cut off, is completed when the next file begins. The caller holds mu.
func (l *Log) removeOld() error {
	if l.opts.Keep <= 0 {
		return nil
	}
	numbers, err := segments(l.dir)
	if err != nil || len(numbers) <= l.opts.Keep {
		return err
	}
	old := numbers[:len(numbers)-l.opts.Keep]
	before, err := l.before(numbers[len(old)])
	if err != nil {
		return err
	}
	err = l.note(removedOld, map[string]string{
		"files": fmt.Sprintf("%s to %s", fileName(old[0]), fileName(old[len(old)-1])),
		"seq":   strconv.FormatUint(before.Seq, 10), "hash": before.Hash,
	})
	if err != nil {
		return err
	}
	for _, n := range old {
		if err := os.Remove(l.path(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return syncDir(l.dir)
}

// before is the record before the first one of the n-th file.
func (l *Log) before(n int) (Anchor, error) {
	f, err := openToRead(l.path(n))
	if err != nil {
		return Anchor{}, err
	}
	defer f.Close()
	line, ended, err := newLineReader(f).next()
	if err != nil || !ended {
		return Anchor{}, errors.Join(fmt.Errorf("%q has no record", fileName(n)), ignoreEnd(err))
	}
	e, err := unseal(line)
	return Anchor{Seq: e.Seq - 1, Hash: e.Prev}, err
}

func ignoreEnd(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// removal returns the last removed record, from a record of removedOld.
func removal(r Record) Anchor {
	seq, err := strconv.ParseUint(r.Detail["seq"], 10, 64)
	if err != nil {
		return Anchor{}
	}
	return Anchor{Seq: seq, Hash: r.Detail["hash"]}
}
