package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/ipc"
)

// A client that lost its connection while a person is asked sends its request again, with the
// same key. The daemon does not report the caller as gone: it asks and executes once. R-IP-02
func TestRetryOutlivesTheFirst(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	st := newStage(a, "[approval]\ntimeout = \"60s\"\n")
	person := st.persons["terminal"]
	agent := a.agentPeer("asks")
	s, err := agent.agent.OpenSession(t.Context(), ipc.SessionRequest{Kind: ipc.KindAPI, Root: a.project})
	if err != nil {
		t.Fatal(err)
	}
	c := &ipc.Client{Socket: agent.agent.Socket, Secret: s.Secret}
	defer c.Close()
	change := ipc.FileRequest{Op: "write", Session: s.ID, Path: filepath.Join(a.project, "main.go"), Content: "once",
		IdempotencyKey: "k"}
	ctx, hangUp := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		_, err := c.File(ctx, change)
		lost <- err
	}()
	eventually(t, "it is asked", func() bool { return len(pendingOf(t, person)) == 1 })
	first := pendingOf(t, person)[0].ID
	again := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := c.File(t.Context(), change)
			again <- err
		}()
	}
	time.Sleep(300 * time.Millisecond) // they are there by then, or come after the first is gone
	hangUp()
	<-lost
	eventually(t, "it is asked again", func() bool {
		list := pendingOf(t, person)
		if len(list) != 1 || list[0].ID == first {
			return false
		}
		_, err := person.approver.Decide(t.Context(),
			ipc.Answer{ID: list[0].ID, Rev: list[0].Rev, Hash: list[0].Hash, Allow: true})
		return err == nil
	})
	for range 2 {
		if err := <-again; err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(a.project, "main.go")); string(b) != "once" {
		t.Errorf("%q, %v", b, err)
	}
}
