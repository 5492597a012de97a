package layer

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"sandboxd/internal/rapidtest"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		child(text)
		os.Exit(0)
	}
	for name, value := range map[string]string{ // git's own settings are no part of a test
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	rapidtest.Default(80)
	os.Exit(m.Run())
}

// cases is the number of cases that a property is tried on.
func cases(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fewer has a test try a property on a part of the cases only.
func fewer(t *testing.T, part int) {
	t.Helper()
	n, now := cases(t), flag.Lookup("rapid.checks").Value
	t.Cleanup(func() { _ = now.Set(strconv.Itoa(n)) })
	if err := now.Set(strconv.Itoa(max(n/part, 1))); err != nil {
		t.Fatal(err)
	}
}
