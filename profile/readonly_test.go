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
