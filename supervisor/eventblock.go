package supervisor

import (
	"iter"
	"sort"
	"time"
)

// blocks are events, numbered from 1, in little room. A command may write its
// output byte by byte, and an event of its own for each would take a hundred times
// the room of its bytes: small pieces share a block, in which each costs a
// [piece] besides its bytes.
type blocks struct {
	list    []block
	bytes   int64 // of output
	dropped int64 // bytes of list[0] that were dropped
}

// A block is one event, or small pieces of output.
type block struct {
	first  uint64 // number of its first event
	event  Event  // of pieces, only when the first came
	data   []byte
	pieces []piece // nil: one event
}

// A piece is output of one kind.
type piece struct {
	end   uint32 // of it, in data
	after uint32 // than the block's first, milliseconds
	kind  uint8  // in outputs
}

// Bounds of a block with pieces, and of a small piece.
const (
	blockBytes = 64 << 10
	smallPiece = 2 << 10
	// sizes of a block and a piece in memory, about
	blockSize = 192
	pieceSize = 12
)

var outputs = []EventKind{EventStdout, EventStderr, EventTerminal}

func outputKind(k EventKind) (uint8, bool) {
	for i, o := range outputs {
		if o == k {
			return uint8(i), true
		}
	}
	return 0, false
}

// count is how many events there are, with those that were dropped.
func (b *blocks) count() uint64 {
	if len(b.list) == 0 {
		return 0
	}
	last := &b.list[len(b.list)-1]
	return last.first + uint64(max(len(last.pieces), 1)) - 1
}

// add appends e. With join it may become part of the event before.
func (b *blocks) add(e Event, join bool) {
	b.bytes += int64(len(e.Data))
	kind, output := outputKind(e.Kind)
	if !output || len(e.Data) == 0 || len(e.Data) >= smallPiece {
		b.list = append(b.list, block{first: b.count() + 1, event: e})
		return
	}
	if len(b.list) > 0 {
		last := &b.list[len(b.list)-1]
		after := e.Time.Sub(last.event.Time).Milliseconds()
		if len(last.pieces) > 0 && len(last.data)+len(e.Data) <= blockBytes && after < 1<<31 {
			// Readers hold slices of data that end before the appended bytes.
			last.data = append(last.data, e.Data...)
			if newest := &last.pieces[len(last.pieces)-1]; join && newest.kind == kind {
				newest.end = uint32(len(last.data))
				return
			}
			last.pieces = append(last.pieces, piece{uint32(len(last.data)), uint32(max(after, 0)), kind})
			return
		}
	}
	n := block{first: b.count() + 1, event: Event{Time: e.Time}, data: e.Data,
		pieces: []piece{{uint32(len(e.Data)), 0, kind}}}
	b.list = append(b.list, n)
}

// at is event number n, which must be there.
func (b *blocks) at(n uint64) Event {
	i := sort.Search(len(b.list), func(i int) bool { return b.list[i].first > n }) - 1
	return b.list[i].at(int(n - b.list[i].first))
}

// at is the block's event number i, from 0.
func (b *block) at(i int) Event {
	e := b.event
	e.Seq = b.first + uint64(i)
	if b.pieces == nil {
		return e
	}
	p, start := b.pieces[i], uint32(0)
	if i > 0 {
		start = b.pieces[i-1].end
	}
	e.Kind, e.Data = outputs[p.kind], b.data[start:p.end:p.end]
	e.Time = e.Time.Add(time.Duration(p.after) * time.Millisecond)
	return e
}

// drop forgets the first n bytes, of blocks that are nothing but output, and returns the room of one of them for use
// again; nil: none was dropped whole.
func (b *blocks) drop(n int64) (room []byte) {
	b.bytes -= n
	b.dropped += n
	for len(b.list) > 0 {
		size := int64(len(b.list[0].data) + len(b.list[0].event.Data))
		if size > b.dropped {
			return room
		}
		b.dropped -= size
		room = b.list[0].event.Data[:0]
		b.list[0] = block{}
		b.list = b.list[1:]
	}
	return room
}

// all are the events, the first one without its dropped part.
func (b *blocks) all() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		skip := b.dropped
		for i := range b.list {
			for j := range max(len(b.list[i].pieces), 1) {
				e := b.list[i].at(j)
				n := min(skip, int64(len(e.Data)))
				skip -= n
				if e.Data = e.Data[n:]; n > 0 && len(e.Data) == 0 {
					continue
				}
				if !yield(e) {
					return
				}
			}
		}
	}
}

// size is how many bytes of memory they take, about.
func (b *blocks) size() int64 {
	n := b.bytes
	for i := range b.list {
		n += blockSize + pieceSize*int64(len(b.list[i].pieces))
	}
	return n
}
