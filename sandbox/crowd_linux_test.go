package sandbox

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"sandboxd/profile"
)

// Starts that hang, as many as may be on their way at once, hold nobody up.
func TestHangingStartsHoldNobodyUp(t *testing.T) {
	dir := workDir(t)
	plan, err := testHost.Plan(Request{Profile: system(t, dir, profile.Limits{}),
		Command: Command{Argv: []string{"true"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	std := Stdio{null, null, null}
	never := errors.New("it hung")
	hanging, release := make(chan struct{}), make(chan struct{})
	var crowd sync.WaitGroup
	for range cap(testHost.starts) {
		crowd.Go(func() {
			_, err := testHost.Start(context.Background(), plan, std, NewGate(func() error {
				hanging <- struct{}{}
				<-release
				return never
			}))
			if !errors.Is(err, never) {
				t.Errorf("a start that was held came to %v", err)
			}
		})
	}
	for range cap(testHost.starts) {
		<-hanging
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	proc, err := testHost.Start(ctx, plan, std, nil)
	if err != nil {
		t.Error(err)
	} else if e := proc.Wait(); e.Code != 0 {
		t.Errorf("%+v", e)
	}
	close(release)
	crowd.Wait()
	if n := len(testHost.starts); n != 0 {
		t.Errorf("%d starts are still counted", n)
	}
}
