package acceptance

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"sandboxd/ipc"
)

// R-IP-02, R-AP-14: the end of a terminal's session ends sbx, its question and its command.
// An sbx that then requests the command's end has no terminal, and so does not appear as the
// owner of its session.
func TestTerminalLeaves(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		for _, name := range []string{"question", "command"} {
			t.Run(name, func(t *testing.T) {
				// The shell is the leader of the session, and is what ends.
				shell := a.command(context.Background(), "/bin/sh", "-c", filepath.Join(bin, "sbx")+
					" run -c 'sleep 61 > left'; true")
				shell.SysProcAttr.Setctty = true
				tty, err := pty.Start(shell)
				if err != nil {
					t.Fatal(err)
				}
				defer tty.Close() // it stays open: only the signal reports the end of the session
				go io.Copy(io.Discard, tty)
				q := st.asking(t)
				if name == "command" {
					if _, err := st.person().Decide(t.Context(),
						ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true}); err != nil {
						t.Fatal(err)
					}
					for end := time.Now().Add(patience); !a.wrote("left") && time.Now().Before(end); {
						time.Sleep(20 * time.Millisecond)
					}
				}
				time.Sleep(time.Second) // the question, or its end, is on the screen
				shell.Process.Kill()
				shell.Wait()
				left := ""
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					left = ""
					open, err := st.person().Approvals(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if len(open.Approvals) > 0 {
						left = "the question"
					}
					for _, p := range processes() {
						if strings.Contains(p.cmdline, "sleep 61 > left") {
							left += " " + p.cmdline
						}
					}
					if left == "" {
						return
					}
				}
				t.Errorf("left behind: %s", left)
			})
		}
	})
}
