package supervisor

import (
	"os"
	"path/filepath"
	"testing"

	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/sandbox"
)

// What is kept of the configuration is never older than the files that it comes
// from: a project's file counts from the next command on, and so does a reload.
func TestCompiledAgain(t *testing.T) {
	load := func(text string) *config.Config {
		file := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := config.Load(config.Paths{User: file})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	root, home := t.TempDir(), t.TempDir()
	s := &Supervisor{Host: &sandbox.Host{}, config: load("")}
	sess := &Session{Root: root, Home: home, User: "eve"}
	hides := func(name string) bool {
		t.Helper()
		c, err := s.compile(sess)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := s.profiles(c.cfg, sess, true, "")
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.compile(sess)
		if err != nil || again != c {
			t.Errorf("what did not change was compiled twice (%v)", err)
		}
		kind, _, _ := p.Effective(filepath.Join(root, name))
		return kind == profile.Hide
	}
	project := filepath.Join(root, config.ProjectFile)
	write := func(text string) {
		if err := os.WriteFile(project, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if hides("a") || hides("b") {
		t.Error("something is hidden without a rule")
	}
	write("[sandbox]\nhidden = [\"a\"]\n")
	if !hides("a") || hides("b") {
		t.Error("the project's file does not count")
	}
	write("[sandbox]\nhidden = [\"b\"]\n") // of the same size
	if hides("a") || !hides("b") {
		t.Error("the project's file counts as it was")
	}
	os.Remove(project)
	if hides("a") || hides("b") {
		t.Error("the project's file counts after it is gone")
	}
	s.config = load("[sandbox]\nhidden = [\"c\"]\n")
	if !hides("c") {
		t.Error("the new configuration does not count")
	}
}
