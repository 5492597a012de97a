package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The command line beside the daemon itself: statuses, and what is printed where.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.toml", "[approval]\ntimeout = \"5m\"\n")
	bad := file("bad.toml", "[approval]\ntimeout = \"soon\"\n")
	long := file("long.toml", "[approval]\ntimeout = \"99999999h\"\n")
	mine := file("mine.toml", "")
	t.Chdir(dir)
	for _, c := range []struct {
		args     string
		status   int
		out, err string // parts of standard output and standard error
	}{
		{"--version", 0, "sandboxd ", ""},
		{"--help", 0, "Usage: sandboxd", ""},
		{"--yolo", 2, "", "--mode approve-all"},
		{"--idle-timeout -1s", 2, "", "--idle-timeout -1s is negative"},
		{"--mode loose", 2, "", "want interactive, strict or approve-all"},
		{"surplus", 2, "", `unexpected "surplus"`},
		{"--state-dir= --version", 2, "", "it is empty"},
		{"config preset ls --config=", 2, "", "it is empty"},
		{"config", 2, "", "want check, show, schema"},
		{"config check surplus", 2, "", `unexpected "surplus"`},
		{"config --help", 0, "Usage: sandboxd", ""},
		{"config add --help", 0, "Usage: sandboxd", ""},
		{"config import -h", 0, "Usage: sandboxd", ""},
		{"broker --help", 0, "Usage: sandboxd", ""},
		{"config check --config " + good, 0, "", ""},
		{"config check --json --config " + good, 0, `"ok":true`, ""},
		{"config check --config " + bad, 1, "timeout", ""},
		{"config check --config " + dir + "/absent", 1, "", "--config"},
		{"config show --config " + good, 0, "timeout = ", ""},
		{"config show --json --config " + good, 0, `"approval.timeout"`, ""},
		{"config show --config " + bad, 1, "", "timeout"},
		{"config schema", 0, `"$schema"`, ""},
		{"config man", 0, ".TH", ""},
		{"config preset add go --config " + mine, 0, "go", ""},
		{"config preset ls --config " + mine, 0, "go", ""},
		{"config preset ls --json --config " + mine, 0, `"go"`, ""},
		{"config preset rm go --config " + mine, 0, "go", ""},
		{"config preset add absent --config " + mine, 1, "", "absent"},
		{"config preset", 2, "", "preset"},
		{"config preset ls go", 2, "", "preset"},
		{"config preset add go --surplus", 2, "", "-surplus"},
		{"config add permissions.allow Bash(make:*) --config " + mine, 0, "permissions.allow: added Bash(make:*)", ""},
		{"config rm permissions.allow Bash(make:*) --config " + mine, 0, "removed", ""},
		{"config add approval.timeout 5m --config " + mine, 1, "", "want presets.use, permissions.allow"},
		{"config add network.allow a|b --config " + mine, 1, "", `host "a|b": a host name has no such character`},
		{"config frob", 2, "", "preset, add, rm or import"},
		{"config check --config " + long, 1, `duration "99999999h": out of range`, ""},
		{"config add presets.use", 2, "", "want LIST VALUE"},
		{"config import --from nobody --name absent", 1, "", "nobody"},
		{"broker surplus surplus", 2, "", "surplus"},
	} {
		var out, err bytes.Buffer
		status := run(strings.Fields(c.args), &out, &err)
		if status != c.status || !strings.Contains(out.String(), c.out) || !strings.Contains(err.String(), c.err) {
			t.Errorf(
				"sandboxd %s: got %d, %q and %q, want %d, %q and %q",
				c.args,
				status,
				&out,
				&err,
				c.status,
				c.out,
				c.err,
			)
		}
	}
	if err := run([]string{"config", "schema"}, full{}, new(bytes.Buffer)); err != 1 {
		t.Errorf("got %d where output is lost, want 1", err)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A directory of records is this user's alone, or it is refused.
func TestOwnDirectory(t *testing.T) {
	base := t.TempDir()
	open, file := filepath.Join(base, "open"), filepath.Join(base, "file")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(base, "new"), open} {
		if err := ownDir(path); err != nil {
			t.Errorf("%s: got %v, want it accepted", path, err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: got %v (%v), want mode 0700", path, fi.Mode(), err)
		}
	}
	if err := ownDir(file); err == nil {
		t.Errorf("got %s accepted, want a refusal: it is no directory", file)
	}
}

var tomlBlock = regexp.MustCompile("(?ms)^```toml\n(.*?)^```$")

// Each block of settings in a page of docs/ is a configuration without errors, but those that name another file.
func TestSettingsOfDocuments(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	file, checked := filepath.Join(t.TempDir(), "config.toml"), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range tomlBlock.FindAllSubmatch(text, -1) {
			if first, _, _ := strings.Cut(string(m[1]), "\n"); strings.HasPrefix(first, "# ~/.config/sandboxd/servers/") {
				continue // a profile document
			}
			checked++
			if err := os.WriteFile(file, m[1], 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if status := run([]string{"config", "check", "--config", file}, &out, &out); status != 0 {
				t.Errorf("%s: got %d, want a good configuration:\n%s\n%s", page, status, m[1], &out)
			}
		}
	}
	if checked < 8 {
		t.Errorf("got %d blocks of settings, want 8 or more", checked)
	}
}
