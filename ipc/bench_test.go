package ipc_test

import (
	"io"
	"testing"

	"sandboxd/ipc"
)

// BenchmarkRequest is the price of the wire alone: one small request.
func BenchmarkRequest(b *testing.B) {
	h, _, _ := house(b, ipc.Limits{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Agent.Version(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnect is the price of a new connection: the peer is described.
func BenchmarkConnect(b *testing.B) {
	h, _, _ := house(b, ipc.Limits{})
	for b.Loop() {
		c := &ipc.Client{Socket: h.Agent.Socket}
		if _, err := c.Version(b.Context()); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

// BenchmarkOutput is how fast output travels, in pieces of 32 KiB.
func BenchmarkOutput(b *testing.B) {
	h, _, s := house(b, ipc.Limits{})
	b.SetBytes(200 * 32 << 10)
	for b.Loop() {
		started, err := h.Agent.StartExec(b.Context(), ipc.ExecRequest{Session: s.ID, Command: "flood 200"})
		if err != nil {
			b.Fatal(err)
		}
		events, err := h.Agent.ExecEvents(b.Context(), ipc.EventsRequest{ID: started.ID})
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := events.Next(b.Context()); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		events.Close()
	}
}
