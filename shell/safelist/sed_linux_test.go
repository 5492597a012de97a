package safelist

import (
	"math/rand"
	"os/exec"
	"strings"
	"testing"
)

// R-SH-03, R-SH-08: the end of a bracket expression decides which parts of a sed script are commands. The test gives
// scripts of brackets, classes and separators that the list allows to GNU sed itself, which reports e, r and w.
func TestSedReadsBracketsAsWeDo(t *testing.T) {
	inside := []string{"[", "]", "^", "[:alpha:]", `\`, `\\`, "[.", ".]", "[=", "=]", "[:", ":]", "a", "-", ".", `\n`,
		`\c`, `\]`, `\[`}
	before := []string{"s/[", "/[", `s/a\[[`, "s/[^", "s/(["}
	behind := []string{"/]/g;s/e;/x/p", "/]/;s/e;/x/p", "/s/e;/x/p", "/p;/]/s/e;/x/p", "/e;p", "/]/e;p", "/[/]/g;s/e;/x/p"}
	r := rand.New(rand.NewSource(1))
	for passed, tries := 0, 0; passed < 150; tries++ {
		if tries > 100_000 {
			t.Fatalf("%d of %d scripts pass; there is nothing to compare", passed, tries)
		}
		script := before[r.Intn(len(before))]
		for range 1 + r.Intn(6) {
			script += inside[r.Intn(len(inside))]
		}
		script += behind[r.Intn(len(behind))]
		if sedScript(script) != "" {
			continue
		}
		passed++
		out, _ := exec.Command("sed", "--sandbox", "--", script).CombinedOutput()
		if strings.Contains(string(out), "sandbox mode") {
			t.Errorf("%q passes, and sed reads a command in it that runs, reads or writes: %s", script, out)
		}
	}
}

// R-SH-03: what follows a, i and c is text to the end of the line, and no command.
func TestSedReadsTextsAsWeDo(t *testing.T) {
	parts := []string{"\\", "\\\\", "\n", "e", ";", " ", "w x", "}", "{", "a", "i", "c", "$!", "1"}
	r := rand.New(rand.NewSource(1))
	for passed, tries := 0, 0; passed < 150; tries++ {
		if tries > 100_000 {
			t.Fatalf("%d of %d scripts pass; there is nothing to compare", passed, tries)
		}
		script := []string{"a", "1i", "$c", "/x/a\\", "1p;2i", "1!a"}[r.Intn(6)]
		for range 1 + r.Intn(6) {
			script += parts[r.Intn(len(parts))]
		}
		if sedScript(script) != "" {
			continue
		}
		passed++
		out, _ := exec.Command("sed", "--sandbox", "--", script, "/dev/null").CombinedOutput()
		if strings.Contains(string(out), "sandbox mode") {
			t.Errorf("%q passes, and sed reads a command in it that runs, reads or writes: %s", script, out)
		}
	}
}
