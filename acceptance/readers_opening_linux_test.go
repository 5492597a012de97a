package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-UX-10, R-LY-08: a question about a command that names a file outside the project offers a yes that opens the
// file for reading, for that run. Secrets, links and what other programs' settings are have no such offer.
func TestYesOpensAFileOutside(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		data := filepath.Join(a.home, "datasets-of-a-test")
		t.Cleanup(func() { os.RemoveAll(data) })
		a.sh(
			"mkdir -p " + data + "/.aws && cd " + data +
				" && echo rows > a.csv && echo KEY > .aws/credentials && ln -s a.csv link",
		)
		a.startWith("")
		a.sbx("trust", a.project)
		ask := func(command string, answer ...string) (offered int, end result) {
			wait := a.begin("run", "-c", command)
			q := a.pending(1)[0]
			if got := a.sbx(append([]string{"approve", q.ID}, answer...)...); got.code != 0 {
				t.Errorf("%s: got %v, want the answer taken", command, got)
				a.sbx("approve", q.ID, "--deny")
			}
			return len(q.Widenings), wait()
		}
		file := data + "/a.csv"
		if offered, end := ask("cat "+file, "--allow"); offered != 1 || end.code == 0 {
			t.Errorf("got %d offers and %v by a plain yes, want one and no such file", offered, end)
		}
		if _, end := ask("cat "+file, "--allow", "--widening", "1"); end.out != "rows\n" {
			t.Errorf("got %v, want the file", end)
		}
		const read = "python3 -c 'open(\"%[1]s\", \"a\").write(\"more\")'; cat %[1]s"
		if _, end := ask(fmt.Sprintf(read, file), "--allow", "--widening", "1"); !strings.Contains(end.out, "rows") {
			t.Errorf("got %v, want the file", end)
		}
		if b, err := os.ReadFile(file); string(b) != "rows\n" {
			t.Errorf("got %q (%v), want a file that was only read", b, err)
		}
		if got := a.sbx("log", "--json"); !strings.Contains(got.out, `"opened":"\"read `+file) {
			t.Errorf("got %v, want what the yes opened on record", got)
		}
		if offered, end := ask("grep -r . "+data, "--allow", "--widening", "1"); offered != 1 ||
			strings.Contains(end.out, "KEY") {
			t.Errorf("got %d offers and %v, want the directory without its secrets", offered, end)
		}
		none := []string{"cat " + data + "/link", "cat " + data + "/.aws/credentials", "ls " + a.home, "cat /proc/1/environ"}
		for _, command := range none {
			if offered, _ := ask(command, "--allow", "--confirm"); offered != 0 {
				t.Errorf("%s: got %d offers, want none", command, offered)
			}
		}
	})
}
