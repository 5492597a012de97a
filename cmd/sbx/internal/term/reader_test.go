package term

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

type chunk struct {
	text string
	err  error
}

// readAll reads in the background, as a command's input is read.
func readAll(r io.Reader) <-chan chunk {
	out := make(chan chunk)
	go func() {
		buf := make([]byte, 64)
		for {
			n, err := r.Read(buf)
			out <- chunk{string(buf[:n]), err}
			if err != nil {
				return
			}
		}
	}()
	return out
}

func pipe(t *testing.T) (*Reader, *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	r, err := NewReader(int(in.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return r, out
}

func TestReaderPaused(t *testing.T) {
	r, out := pipe(t)
	got := readAll(r.With(t.Context()))
	io.WriteString(out, "one")
	if c := <-got; c.text != "one" || c.err != nil {
		t.Fatalf("read %+v, want one", c)
	}
	resume := r.Pause()
	io.WriteString(out, "two")
	select {
	case c := <-got:
		t.Fatalf("read %+v while paused", c)
	case <-time.After(50 * time.Millisecond):
	}
	resume()
	resume() // once counts
	if c := <-got; c.text != "two" || c.err != nil {
		t.Fatalf("read %+v, want two", c)
	}
}

// A reader at its end once spun instead of saying so, because the end of a
// read looked like a pause.
func TestReaderEnds(t *testing.T) {
	r, out := pipe(t)
	got := readAll(r.With(t.Context()))
	out.Close()
	select {
	case c := <-got:
		if c.err != io.EOF {
			t.Errorf("read %+v, want io.EOF", c)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it never ended")
	}
}

func TestReaderGivenUp(t *testing.T) {
	r, _ := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := readAll(r.With(ctx))
	resume := r.Pause() // also while paused
	defer resume()
	cancel()
	if c := <-got; !errors.Is(c.err, context.Canceled) {
		t.Errorf("read %+v, want %v", c, context.Canceled)
	}
}
