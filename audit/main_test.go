package audit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sandboxd/audit"
)

// TestMain lets the test binary play a daemon that is killed.
func TestMain(m *testing.M) {
	if act := os.Getenv("AUDIT_TEST_ACT"); act != "" {
		os.Exit(play(act))
	}
	goleak.VerifyTestMain(m)
}

// acts are what a child of the test can do besides, on some systems.
var acts = map[string]func(dir string) int{}

// play is what a child of the test does.
func play(act string) int {
	act, dir, _ := strings.Cut(act, " ")
	if f := acts[act]; f != nil {
		return f(dir)
	}
	switch act {
	case "append": // many at once, and say which are on the disk
		l, err := audit.Open(dir, audit.Options{RotateSize: 20 << 10})
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		for w := range 8 {
			go func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
					if err := l.Append(audit.Record{Category: audit.Execution, CallID: id,
						Subject: strings.Repeat("x", i%700)}); err != nil {
						fmt.Println("error", err)
						os.Exit(1)
					}
					fmt.Printf("%s\n", id)
				}
			}()
		}
		select {}
	case "hold": // the log, until the input ends
		l, err := audit.Open(dir, audit.Options{})
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		defer l.Close()
		fmt.Println("ready")
		fmt.Scanln()
		return 0
	}
	return 1
}
