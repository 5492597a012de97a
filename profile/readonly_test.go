package profile_test

import (
	"testing"

	"sandboxd/profile"
)

// R-LY-01: ReadOnly takes write access to the host's files, and nothing else.
func TestReadOnly(t *testing.T) {
	p, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
			{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/p"},
			{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/cache"},
			{Kind: profile.Private, Path: "/tmp"},
			{Kind: profile.Hide, Path: "/p", Name: ".env"},
			{Kind: profile.Protect, Path: "/p", Name: ".git/hooks"},
		},
		Devices: []string{"/dev/null"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := p.ReadOnly()
	if !r.Within(p) || r.ReadOnly().Digest() != r.Digest() {
		t.Errorf("%s\nis not within\n%s", r, p)
	}
	for _, c := range []struct {
		op      profile.Op
		path    string
		allowed bool
	}{
		{profile.OpWrite, "/p/a", false}, {profile.OpCreate, "/p/a", false}, {profile.OpWrite, "/cache/a", false},
		{profile.OpRead, "/p/a", true}, {profile.OpExec, "/p/a", true}, {profile.OpRead, "/p/d/.env", false},
		{profile.OpRead, "/p/.git/hooks/x", true}, {profile.OpRead, "/cache/a", true},
		{profile.OpWrite, "/dev/null", true}, {profile.OpWrite, "/tmp/a", true}, {profile.OpExec, "/usr/bin/a", true},
	} {
		if got := r.Allows(c.op, c.path); got.Allowed != c.allowed {
			t.Errorf("%s %s: %v", c.op, c.path, got)
		}
	}
}

// R-LY-07: ReadOnlyBut keeps the directories that it names, also where one above them is writable.
func TestReadOnlyBut(t *testing.T) {
	p, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/src"},
			{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/src/p/data"},
			{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/cache"},
			{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/out"},
			{Kind: profile.Private, Path: "/tmp"},
			{Kind: profile.Protect, Path: "/src", Name: ".git/hooks"},
		},
		Devices: []string{"/dev/null"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := p.ReadOnlyBut("/src/p", "/cache", "/none")
	if !r.Within(p) || r.ReadOnlyBut("/src/p", "/cache").Digest() != r.Digest() {
		t.Errorf("%s\nis not within\n%s", r, p)
	}
	if p.ReadOnlyBut("/src", "/cache", "/out").Digest() != p.Digest() {
		t.Error("a profile without anything else to write is another one")
	}
	for path, allowed := range map[string]bool{
		"/src/p/a": true, "/src/p/data/a": true, "/src/q/a": false, "/src/pq": false, "/cache/a": true, "/out/a": false,
		"/tmp/a": true, "/dev/null": true, "/src/p/.git/hooks/x": false, "/none/a": false,
	} {
		if got := r.Allows(profile.OpWrite, path); got.Allowed != allowed {
			t.Errorf("%s: %v", path, got)
		}
	}
}
