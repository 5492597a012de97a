package main

import (
	"fmt"
	"strings"
	"testing"
)

// R-UX-10: a newcomer's tasks at 80×24. No yes needs more than its letter and Enter. In ten lines a card hid the path
// of the project's own cache, or of sbx itself, and refused the first yes for it.
func TestScreenNewcomer(t *testing.T) {
	t.Parallel()
	once, trusted := "Only this once", "Execute once"
	tasks := []struct{ line, answer string }{
		{"sbx run -c 'python3 -c 2'", once},
		{"sbx run -c 'echo hello > hello.txt && cat hello.txt'", once},
		{"sbx run -c 'mkdir -p src/english && echo hi > src/english/a.txt && mv src/english src/en'", once},
		{`sbx run -c "sed -i 's/module/module/' go.mod && git add -A && git -c user.name=a -c user.email=a@b.c ` +
			`commit -qm first"`, once},
		{"sbx run --agent-name claude -c 'for f in one two three; do printf \"%s\\n\" \"$f\" > \"$f.txt\"; done; " +
			"ls *.txt | sort | head -n 2; tar cf all.tar *.txt && python3 -c \"print(2)\"'", once},
		{"sbx trust >/dev/null 2>&1; sbx run -- python3 -c 3", trusted},
		{"sbx run -c 'chmod +x hello.txt; ./hello.txt || true'", trusted},
		{"sbx run --agent-name claude -- env A=b python3 -c 4", trusted},
	}
	var script []string
	for i, task := range tasks {
		script = append(script, fmt.Sprintf("%s; echo task %d ended $?", task.line, i+1))
	}
	p := openProject(t, 80, 24, "git init -q . && printf 'module a\\n' > go.mod && "+
		strings.Join(script, "\n"))
	for i, task := range tasks {
		p.Wait(`\d s old`)
		settle()
		p.steps("y", "?> [0-9]. "+task.answer, "Enter")
		p.Wait(fmt.Sprintf("task %d ended 0", i+1))
		p.Press("C-l")
	}
}
