package acceptance

import (
	"strings"
	"testing"
	"time"
)

// A repository that is complete when the daemon is killed is judged as a whole, too, whatever the age of its parts.
// R-OS-03
func TestGitAfterKill(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh("mkdir sub")
		a.direct()
		a.sbx("run", "-c", "mkdir e; printf '[core]\n\tfsmonitor = \"touch pwn;false\"\n' > e/config; "+
			"mkdir e/refs; echo ref: refs/heads/x > e/HEAD")
		time.Sleep(2 * time.Second)
		ended := make(chan result, 1)
		go func() {
			ended <- a.sbx("run", "-c", "mkdir e/objects; echo gitdir: ../e > sub/.git; touch done; sleep 30")
		}()
		for range 500 {
			if a.do(nil, "/usr/bin/test", "-e", "done").code == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		a.kill()
		<-ended
		a.direct()
		r := a.sbx("run", "-c", "true")
		if config := a.sh("cat e/config"); strings.Contains(config, "fsmonitor") {
			t.Errorf("left: %s\n%v\n%v", config, r, a.sbx("status"))
		}
	})
}
