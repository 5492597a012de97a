package danger_test

import (
	"testing"

	"sandboxd/shell/analysis"
	"sandboxd/shell/danger"
)

func TestCodeFromInput(t *testing.T) {
	for line, want := range map[string]bool{
		"sh": true, "bash -e": true, "bash -s x": true, "bash -o pipefail": true, "python3": true, "python3 -": true,
		"python3 -u -W ignore": true, "node": true, "perl -w": true, "ruby": true, "source /dev/stdin": true,
		". /dev/fd/0": true, "bash /dev/stdin": true, "python3 - a b": true, "parallel": true,
		"node -r ts-node/register": true, "sh x.sh": false, "bash -c ls": false, "bash -ec ls": false, "python3 x.py": false,
		"python3 -m pytest": false, "python3 -c 1": false, "perl -ne 1": false, "node -e 1": false, "node --version": false,
		"bash --version": false, "ruby -rjson -e 1": false, "php -r 1": false, "source x": false, "cat": false,
		"python3 -W ignore x.py": false, "bun test": false,
	} {
		s := analysis.Line(line, analysis.Place{Cwd: "/p"})
		if got := danger.CodeFromInput(s.Calls[0]); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
