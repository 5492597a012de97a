package supervisor

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

func readAll(t *testing.T, r *EventReader) (text string, cut int64, seqs []uint64) {
	t.Helper()
	for {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return text, cut, seqs
		}
		if err != nil {
			t.Fatal(err)
		}
		text += string(e.Data)
		cut += e.Cut
		seqs = append(seqs, e.Seq)
	}
}

// R-IP-02: output caps report what was cut; head and tail are kept.
func TestEventLogKeepsHeadAndTail(t *testing.T) {
	for _, piece := range []int{1, 3, 7, 10, 64} {
		l := newEventLog(10)
		all := "0123456789abcdefghijklmnopqrstuvwxyz"
		for i := 0; i < len(all); i += piece {
			l.add(Event{Kind: EventStdout, Data: []byte(all[i:min(i+piece, len(all))])})
		}
		cut := l.flush()
		l.end(Event{Kind: EventEnded})
		text, told, seqs := readAll(t, l.reader(0))
		if want := all[:10] + all[len(all)-10:]; text != want || cut != int64(len(all)-20) || told != cut {
			t.Errorf("pieces of %d: %q, %d cut, %d told", piece, text, cut, told)
		}
		for i, s := range seqs {
			if s != uint64(i+1) {
				t.Errorf("pieces of %d: sequence %v has a hole", piece, seqs)
				break
			}
		}
	}
}

func TestEventLogCutsNothingBelowTheLimit(t *testing.T) {
	l := newEventLog(10)
	for range 20 {
		l.add(Event{Kind: EventStdout, Data: []byte("x")})
	}
	if cut := l.flush(); cut != 0 {
		t.Errorf("%d bytes cut of head and tail together", cut)
	}
	l.end(Event{})
	if text, _, _ := readAll(t, l.reader(0)); text != strings.Repeat("x", 20) {
		t.Errorf("%q", text)
	}
}

func TestEventLogReadersFollowAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog(0)
		got := make(chan string)
		go func() {
			text, _, _ := readAll(t, l.reader(2))
			got <- text
		}()
		synctest.Wait()
		for _, s := range []string{"one", "two", "three"} {
			l.add(Event{Data: []byte(s)})
		}
		l.end(Event{})
		if text := <-got; text != "twothree" {
			t.Errorf("from 2 on: %q", text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := newEventLog(0).reader(0).Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a reader that leaves: %v", err)
		}
	})
}
