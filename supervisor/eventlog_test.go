package supervisor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
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
		text, drained, seqs := readAll(t, l.reader(0))
		if want := all[:5] + all[len(all)-5:]; text != want || cut != int64(len(all)-10) || drained != cut {
			t.Errorf("pieces of %d: %q, %d cut, %d drained", piece, text, cut, drained)
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
	for range 10 {
		l.add(Event{Kind: EventStdout, Data: []byte("x")})
	}
	if cut := l.flush(); cut != 0 {
		t.Errorf("%d bytes cut of head and tail together", cut)
	}
	l.end(Event{})
	if text, _, _ := readAll(t, l.reader(0)); text != strings.Repeat("x", 10) {
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

// R-IP-02, R-OS-10: output that comes byte by byte, on two descriptors in turn and read
// as it comes, takes a small multiple of the limit, and no more events than bytes.
func TestEventLogInLittleRoom(t *testing.T) {
	const limit = 1 << 20
	l := newEventLog(2 * limit)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := l.reader(1)
	for i := range 3 * limit {
		l.add(Event{Kind: outputs[i%2], Data: []byte{byte(i)}})
		if i < limit {
			if e, err := r.Next(t.Context()); err != nil || len(e.Data) != 1 || e.Data[0] != byte(i) || e.Kind != outputs[i%2] ||
				e.Seq != uint64(i+1) {
				t.Fatalf("event %d is %+v, %v", i, e, err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took, size := int64(after.HeapAlloc)-int64(before.HeapAlloc), l.size(); took > 48*limit || size < took/2 ||
		size > 2*took {
		t.Errorf("it takes %d bytes for a limit of %d, and says %d", took, limit, size)
	}
	if cut := l.flush(); cut != limit {
		t.Errorf("%d bytes are cut, want %d", cut, limit)
	}
	runtime.KeepAlive(l)
}

// For any split of the output and any timing of the readers, each reader gets the
// same events, in order, and together they have all the output.
func TestEventLogTellsAllTheSame(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		l := newEventLog([]int64{0, 100, 5000, 200_000}[rnd.IntN(4)])
		var said [3][]byte
		var heard []Event
		follower := l.reader(1)
		follow := func() {
			for follower.Ready() {
				e, err := follower.Next(t.Context())
				if err != nil {
					return
				}
				e.Data = bytes.Clone(e.Data)
				heard = append(heard, e)
			}
		}
		for range rnd.IntN(200) {
			kind, size := rnd.IntN(3), 1+rnd.IntN(8)
			if rnd.IntN(10) == 0 {
				size = rnd.IntN(3 * smallPiece)
			}
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(rnd.Uint32())
			}
			said[kind] = append(said[kind], data...)
			l.add(Event{Kind: outputs[kind], Data: data})
			if rnd.IntN(10) == 0 {
				l.add(Event{Kind: EventDecided})
			}
			if rnd.IntN(3) == 0 {
				follow()
			}
		}
		cut := l.flush()
		l.end(Event{Kind: EventEnded})
		follow()
		from := 1 + rnd.IntN(len(heard))
		again := l.reader(uint64(from))
		var got [3][]byte
		for i, e := range heard {
			if k, ok := outputKind(e.Kind); ok {
				got[k] = append(got[k], e.Data...)
			}
			if e.Seq != uint64(i+1) {
				t.Fatalf("seed %d: event %d has the number %d", seed, i+1, e.Seq)
			}
			if i+1 < from {
				continue
			}
			if o, err := again.Next(t.Context()); err != nil || o.Seq != e.Seq || o.Kind != e.Kind || !o.Time.Equal(e.Time) ||
				!bytes.Equal(o.Data, e.Data) {
				t.Fatalf("seed %d: read again, %+v is %+v, %v", seed, e, o, err)
			}
		}
		lost := int64(0)
		for k := range said {
			lost += int64(len(said[k]) - len(got[k]))
			if cut == 0 && !bytes.Equal(said[k], got[k]) {
				t.Fatalf("seed %d: %s: said %q, heard %q", seed, outputs[k], said[k], got[k])
			}
		}
		if lost != cut {
			t.Fatalf("seed %d: %d bytes are lost, %d were reported", seed, lost, cut)
		}
	}
}

// Output that wakes no reader is read nevertheless, and before its successor.
func TestEventLogTellsWithTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEventLog(0)
		r := l.reader(0)
		woken := make(chan EventKind, 1)
		go func() {
			e, _ := r.Next(t.Context())
			woken <- e.Kind
		}()
		synctest.Wait()
		l.addBefore(Event{Kind: EventDecided})
		synctest.Wait()
		select {
		case kind := <-woken:
			t.Errorf("a reader is woken for %q", kind)
		default:
		}
		if e, err := l.reader(0).Next(t.Context()); err != nil || e.Kind != EventDecided || e.Time.IsZero() {
			t.Errorf("%+v, %v", e, err)
		}
		l.add(Event{Kind: EventStarted})
		if kind := <-woken; kind != EventDecided {
			t.Errorf("%q came first", kind)
		}
		if e, err := r.Next(t.Context()); err != nil || e.Kind != EventStarted || e.Seq != 2 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// A flood of output, of which the middle is cut, is kept in the room of what was cut.
func TestEventLogFloodAllocatesNothing(t *testing.T) {
	l, chunk := newEventLog(1<<20), make([]byte, 32<<10)
	flood := func() { l.add(Event{Kind: EventStdout, Data: chunk}) }
	for range 100 {
		flood()
	}
	if n := testing.AllocsPerRun(1000, flood); n > 0 {
		t.Errorf("%v allocations for each piece of output", n)
	}
}
