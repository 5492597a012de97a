package profile_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

func inside(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// With(g) adds exactly g. The expectation is worked out path by path from the
// profile before: outside nothing changes, the path itself has the union, and
// so has what is below it, unless a rule for something further down, a name or
// a guard holds there.
func TestWithAddsExactlyTheGrant(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	paths := u.Paths()
	rapid.Check(t, func(t *rapid.T) {
		p, err := profile.New(profile.Spec{Rules: u.Rules().Draw(t, "rules"), Guards: u.Guards().Draw(t, "guards")})
		if err != nil {
			t.Fatal(err)
		}
		g := profile.Grant{Path: u.Path(0).Draw(t, "path"), Access: profiletest.Access().Draw(t, "access")}
		wide, err := p.With(g)
		if err != nil {
			t.Fatal(err)
		}
		union := meaning{access: g.Access}
		if at := meaningOf(p, g.Path); !at.private {
			union.access |= at.access
		}
		for _, x := range paths {
			before, after := meaningOf(p, x), meaningOf(wide, x)
			held, by := holds(p, g.Path, x)
			wrong := ""
			switch {
			case !inside(g.Path, x):
				if before != after {
					wrong = "is outside"
				}
			case !held:
				if after.access != union.access || after.private {
					wrong = "is not granted"
				}
			case after.access&^(before.access|union.access) != 0 || !before.private && after.private:
				wrong = "has more than the grant"
			case by == profile.Hide && after.access&^before.access != 0:
				wrong = "was hidden"
			case by == profile.Protect && after.access&^before.access&profile.Write != 0:
				wrong = "was protected"
			}
			if wrong != "" {
				t.Fatalf("%s: %s %s: %+v became %+v\n%s\n%s", g, x, wrong, before, after, p, wide)
			}
		}
		if wide.Network().Mode != p.Network().Mode {
			t.Fatal("the network changed")
		}
	})
}

// holds reports whether something keeps a grant of dir from reaching at, and
// what: a rule for a path further down, a name, or a guard.
func holds(p profile.Profile, dir, at string) (held bool, by profile.Kind) {
	if !inside(dir, at) {
		return false, 0
	}
	for x := at; x != dir; x = path.Dir(x) {
		if meaningOf(p, x) != meaningOf(p, path.Dir(x)) {
			held = true
		}
		for _, g := range p.Guards() {
			if g.Name == "" && g.Path == x || g.Name != "" && matches(g, x) {
				held, by = true, max(by, g.Kind)
			}
		}
	}
	return held, by
}

func TestWithHostOrSocketAddsOnlyThat(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		p, g := u.Profile().Draw(t, "p"), u.Grant().Draw(t, "g")
		if g.Path != "" {
			g = profile.Grant{Socket: g.Path}
		}
		if g.Socket == "/" {
			return
		}
		wide, err := p.With(g)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Within(wide) {
			t.Fatalf("narrowed: %v", p.Exceeds(wide))
		}
		for _, more := range wide.Exceeds(p) {
			if more.What != "socket" && more.What != "network" || (more.What == "socket") != (g.Socket != "") {
				t.Fatalf("%s added %v", g, more)
			}
		}
		for _, host := range []string{"example.com", "api.example.com", "a.api.example.com", "10.0.0.1", "::1", "other.net"} {
			for _, port := range profiletest.Ports[1:] {
				granted := wide.Network().AllowsHost(host, port)
				one := profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{g.Host}}
				want := p.Network().AllowsHost(host, port) || g.Socket == "" && one.AllowsHost(host, port)
				if granted != want {
					t.Fatalf("%s: %s:%d is %v, want %v", g, host, port, granted, want)
				}
			}
		}
		for _, at := range u.Paths() {
			want := p.Allows(profile.OpConnect, at).Allowed || at == g.Socket
			if got := wide.Allows(profile.OpConnect, at).Allowed; got != want {
				t.Fatalf("%s: connect %s is %v, want %v", g, at, got, want)
			}
		}
	})
}

func TestGrants(t *testing.T) {
	t.Parallel()
	names := []profile.Rule{rule(profile.Protect, "/", ".git/hooks"), rule(profile.Hide, "/home/ann/.ssh", "")}
	p, err := profile.New(profile.Spec{
		Rules: []profile.Rule{rule(profile.Private, "/home/ann", ""), allow(all, "/w"), rule(profile.Hide, "/w/secret", ""),
			rule(profile.Hide, "/w", ".env")},
		Guards: names,
	})
	if err != nil {
		t.Fatal(err)
	}
	rw := profile.Read | profile.Write
	for _, c := range []struct {
		name   string
		grants []profile.Grant
		path   string
		want   profile.Access
		kind   profile.Kind
	}{
		{"a home shows its files", []profile.Grant{{Path: "/home/ann", Access: profile.Read}}, "/home/ann/notes",
			profile.Read, profile.Allow},
		{"but not its secrets", []profile.Grant{{Path: "/home/ann", Access: profile.Read}}, "/home/ann/.ssh/id", 0,
			profile.Hide},
		{"nor does all of the disk", []profile.Grant{{Path: "/", Access: rw}}, "/home/ann/.ssh/id",
			profile.Read | profile.Write | profile.Exec, profile.Private},
		{"unless one is named", []profile.Grant{{Path: "/home/ann/.ssh", Access: profile.Read}}, "/home/ann/.ssh/id",
			profile.Read, profile.Allow},
		{"which leaves the others", []profile.Grant{{Path: "/home/ann/.ssh/known_hosts", Access: profile.Read}},
			"/home/ann/.ssh/id", all, profile.Private},
		{"even when home is shown later", []profile.Grant{{Path: "/home/ann/.ssh/known_hosts", Access: profile.Read},
			{Path: "/home/ann", Access: profile.Read}},
			"/home/ann/.ssh/id", 0, profile.Hide},
		{"a secret once named stays", []profile.Grant{{Path: "/home/ann/.ssh/known_hosts", Access: profile.Read},
			{Path: "/home/ann", Access: profile.Read}},
			"/home/ann/.ssh/known_hosts", profile.Read, profile.Allow},
		{"hooks stay protected elsewhere", []profile.Grant{{Path: "/srv", Access: rw}}, "/srv/repo/.git/hooks/x",
			profile.Read, profile.Protect},
		{"when their own directory is granted", []profile.Grant{{Path: "/srv/repo/.git", Access: rw}},
			"/srv/repo/.git/hooks/x", profile.Read, profile.Protect},
		{"unless they are named", []profile.Grant{{Path: "/srv/repo/.git/hooks", Access: rw}}, "/srv/repo/.git/hooks/x", rw,
			profile.Allow},
		{"a hidden path stays hidden", []profile.Grant{{Path: "/w", Access: rw}}, "/w/secret/x", 0, profile.Hide},
		{"a hidden name stays hidden", []profile.Grant{{Path: "/w/sub", Access: rw}}, "/w/sub/.env", 0, profile.Hide},
		{"unless it is named", []profile.Grant{{Path: "/w/sub/.env", Access: profile.Read}}, "/w/sub/.env", profile.Read,
			profile.Allow},
	} {
		q := p
		for _, g := range c.grants {
			var err error
			if q, err = q.With(g); err != nil {
				t.Fatal(err)
			}
		}
		if kind, access, _ := q.Effective(c.path); kind != c.kind || access != c.want {
			t.Errorf("%s: %s is %s %s, want %s %s", c.name, c.path, kind, access, c.kind, c.want)
		}
	}
}

// Two guards of one path, one by name and one by path: the first to be put in
// force kept the second from it, and a hidden file could be read.
func TestGuardsOfOnePathAllCount(t *testing.T) {
	t.Parallel()
	p := mustNew(t, rule(profile.Protect, "/", "*/b"), rule(profile.Hide, "/.git/b", ""))
	wide, err := p.With(profile.Grant{Path: "/.git", Access: profile.Read})
	if err != nil {
		t.Fatal(err)
	}
	if kind, _, _ := wide.Effective("/.git/b"); kind != profile.Hide {
		t.Errorf("/.git/b is %s", kind)
	}
}

func TestWithRefuses(t *testing.T) {
	t.Parallel()
	for _, g := range []profile.Grant{
		{}, {Path: "/x"}, {Path: "x", Access: profile.Read}, {Path: "/x/../y", Access: profile.Read},
		{Path: "/x", Access: 64},
		{Path: "/x", Access: profile.Read, Socket: "/y"}, {Socket: "y"}, {Host: profile.HostPort{Host: "no name"}},
		{Socket: "/y", Access: profile.Read}, {Path: "/unreadable", Access: profile.Write},
	} {
		if _, err := (profile.Profile{}).With(g); err == nil {
			t.Errorf("%+v is taken", g)
		}
	}
	// Write alone is fine where there is something to read already.
	p := mustNew(t, allow(profile.Read, "/x"))
	if q, err := p.With(profile.Grant{Path: "/x", Access: profile.Write}); err != nil ||
		!q.Allows(profile.OpWrite, "/x/y").Allowed {
		t.Errorf("%v", err)
	}
}
