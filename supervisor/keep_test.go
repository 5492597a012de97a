package supervisor

import (
	"fmt"
	"testing"
)

// endedExec is an execution that said so many bytes; read: to somebody.
func endedExec(t *testing.T, bytes int, read bool) *Exec {
	e := &Exec{log: newEventLog(0)}
	e.log.add(Event{Kind: EventStdout, Data: make([]byte, bytes)})
	e.log.end(Event{Kind: EventEnded})
	if read {
		readAll(t, e.log.reader(1))
	}
	return e
}

// R-OP-03, R-IP-02: what ended commands said takes no more memory than it may;
// what nobody has read yet stays longest.
func TestKeptIsBounded(t *testing.T) {
	const size = 256 << 10
	for _, c := range []struct {
		name string
		read func(i int) bool
		// kept of 1,000: how many, and how many of them unread
		least, most, unread int
	}{
		{"all read", func(int) bool { return true }, keepRead/(size+keepEach) - 1, keepRead/(size+keepEach) + 2, 0},
		{"none read", func(int) bool { return false }, keepAll/(size+keepEach) - 1, keepAll/(size+keepEach) + 2,
			keepAll/(size+keepEach) - 1},
		{"every tenth unread", func(i int) bool { return i%10 != 0 }, 100, 102, 100},
	} {
		var k keptExecs
		for i := range 1000 {
			for _, old := range k.add(endedExec(t, size, c.read(i))) {
				k.remove(old)
			}
		}
		sum, unread := int64(0), 0
		for _, e := range k.list {
			sum += e.bytes
			if !e.log.drained() {
				unread++
			}
		}
		if got := fmt.Sprint(len(k.list), " kept, ", unread, " unread"); len(k.list) < c.least || len(k.list) > c.most ||
			unread < c.unread || sum != k.bytes {
			t.Errorf("%s: %s, %d bytes, %d counted; want %d to %d, %d unread", c.name, got, sum, k.bytes, c.least, c.most,
				c.unread)
		}
	}
	// An execution larger than all that may be kept can be read nevertheless.
	var k keptExecs
	k.add(endedExec(t, keepAll+1, false))
	if len(k.list) != 1 {
		t.Error("the newest is not kept")
	}
	if old := k.add(endedExec(t, 1, false)); len(old) != 1 {
		t.Errorf("%d go", len(old))
	}
}
