package profile_test

import (
	"strings"
	"testing"

	"sandboxd/profile"
)

func mustNew(t testing.TB, rules ...profile.Rule) profile.Profile {
	t.Helper()
	p, err := profile.New(profile.Spec{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allow(a profile.Access, path string) profile.Rule {
	return profile.Rule{Kind: profile.Allow, Access: a, Path: path}
}

func rule(kind profile.Kind, path, name string) profile.Rule {
	return profile.Rule{Kind: kind, Path: path, Name: name}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec profile.Spec
		want string
	}{
		{profile.Spec{Rules: []profile.Rule{allow(profile.Read, "usr")}}, "not absolute"},
		{profile.Spec{Rules: []profile.Rule{allow(profile.Read, "/usr/")}}, `write "/usr"`},
		{profile.Spec{Rules: []profile.Rule{allow(profile.Read, "/usr/../etc")}}, `write "/etc"`},
		{profile.Spec{Rules: []profile.Rule{allow(profile.Read, "/a\x00b")}}, "NUL"},
		{profile.Spec{Rules: []profile.Rule{allow(0, "/usr")}}, "allow without access"},
		{profile.Spec{Rules: []profile.Rule{allow(profile.Write, "/usr")}}, "add read"},
		{profile.Spec{Rules: []profile.Rule{allow(profile.Exec, "/usr")}}, "add read"},
		{profile.Spec{Rules: []profile.Rule{allow(profile.Read|8, "/usr")}}, "unknown access"},
		{profile.Spec{Rules: []profile.Rule{{Kind: 9, Path: "/usr"}}}, "unknown kind"},
		{profile.Spec{Rules: []profile.Rule{{Kind: profile.Protect, Access: all, Path: "/usr"}}}, "contradicts"},
		{profile.Spec{Rules: []profile.Rule{{Kind: profile.Hide, Access: profile.Read, Path: "/usr"}}}, "takes no access"},
		{profile.Spec{Rules: []profile.Rule{rule(profile.Private, "/usr", "x")}}, "only protect and hide"},
		{profile.Spec{Rules: []profile.Rule{rule(profile.Hide, "/usr", "a//b")}}, "not a clean relative path"},
		{profile.Spec{Rules: []profile.Rule{rule(profile.Hide, "/usr", "../b")}}, "not a clean relative path"},
		{profile.Spec{Rules: []profile.Rule{rule(profile.Hide, "/usr", "[a")}}, "syntax error in pattern"},
		{profile.Spec{Rules: []profile.Rule{rule(profile.Hide, "/usr", "**/b")}}, "any depth"},
		{profile.Spec{Rules: []profile.Rule{rule(profile.Hide, "/usr", "*"+strings.Repeat("a", 60))}}, "longer than"},
		{profile.Spec{Guards: []profile.Rule{allow(profile.Read, "/usr")}}, "a guard hides or protects"},
		{profile.Spec{Devices: []string{"/etc/passwd"}}, "not in /dev"},
		{profile.Spec{UnixSockets: []string{"run/x"}}, "not absolute"},
		{profile.Spec{Network: profile.Network{Mode: profile.NetFull, Hosts: []profile.HostPort{{Host: "a"}}}},
			"belong to mode"},
		{profile.Spec{Network: profile.Network{Mode: 7}}, "unknown mode"},
		{profile.Spec{Network: profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{{Host: "A.com"}}}},
			"lower-case"},
		{profile.Spec{Limits: profile.Limits{Processes: -1}}, "processes is negative"},
		{profile.Spec{Syscalls: []profile.SyscallGroup{"bpf"}}, "unknown group"},
		{profile.Spec{Processes: 5}, "unknown visibility"},
		{profile.Spec{Env: profile.Environment{Pass: []string{"A B="}}}, "variable name"},
	} {
		_, err := profile.New(c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

// The origin of the rule at fault is named.
func TestNewNamesTheOrigin(t *testing.T) {
	t.Parallel()
	_, err := profile.New(profile.Spec{Rules: []profile.Rule{{Kind: profile.Hide, Path: "x", Origin: "ceiling.toml:12"}}})
	if err == nil || !strings.Contains(err.Error(), "ceiling.toml:12") {
		t.Errorf("got %v", err)
	}
}

func TestZeroValueGrantsNothing(t *testing.T) {
	t.Parallel()
	var p profile.Profile
	for _, path := range []string{"/", "/etc/passwd", "/dev/null", "/tmp", "relative", "/a/../b", ""} {
		for _, op := range profile.Ops() {
			if v := p.Allows(op, path); v.Allowed {
				t.Errorf("%s", v.Why)
			}
		}
	}
	if !p.Within(profile.Everything()) || profile.Everything().Within(p) || p.Network().AllowsHost("localhost", 1) {
		t.Error("the zero value is not the least")
	}
	empty, err := profile.New(profile.Spec{})
	if err != nil || !empty.Equal(p) || empty.Digest() != p.Digest() {
		t.Errorf("the empty spec is not the zero value: %v", err)
	}
}

// A path that is not real and clean is never allowed, even by everything.
func TestAllowsRefusesUncleanPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "etc", "/etc/", "/etc/../etc/passwd", "//etc", "/etc/./x", "/a\x00"} {
		if v := profile.Everything().Allows(profile.OpRead, path); v.Allowed {
			t.Errorf("%q is allowed", path)
		}
	}
}

// One line a rule of the manual: the path, and the operations it allows.
func TestAllows(t *testing.T) {
	t.Parallel()
	p, err := profile.New(profile.Spec{
		Rules: []profile.Rule{
			allow(profile.Read|profile.Exec, "/usr"),
			allow(all, "/w"), rule(profile.Protect, "/w", ".git/hooks"), rule(profile.Hide, "/w", ".env*"),
			allow(profile.Read, "/w/.env.example"), rule(profile.Hide, "/w/secret", ""), allow(profile.Read, "/w/secret/pub"),
			rule(profile.Protect, "/w/ci", ""), allow(profile.Read|profile.Write, "/w/ci/out"),
			rule(profile.Private, "/tmp", ""),
			{Kind: profile.Private, Access: profile.Read, Path: "/proc"}, allow(profile.Read|profile.Write, "/deep/down/below"),
		},
		UnixSockets: []string{"/run/agent.sock"}, Devices: []string{"/dev/null"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const (
		look  = "read list stat"
		work  = look + " write metadata link connect"
		alter = " create remove"
	)
	for path, want := range map[string]string{
		"/":                       "stat",
		"/home":                   "",
		"/usr":                    look + " exec",
		"/usr/bin/ls":             look + " exec",
		"/w":                      work + " exec", // its parent is not writable
		"/w/f":                    work + alter + " exec",
		"/w/.git/hooks":           look + " exec",
		"/w/sub/.git/hooks/x":     look + " exec",
		"/w/.git/config":          work + alter + " exec",
		"/w/.env":                 "stat",
		"/w/.env/x":               "",
		"/w/a/.env.local":         "stat",
		"/w/.env.example":         look,
		"/w/secret":               "stat",
		"/w/secret/x":             "",
		"/w/secret/pub":           look,
		"/w/secret/pub/.env":      "stat",
		"/w/ci":                   look + " exec",
		"/w/ci/x":                 look + " exec",
		"/w/ci/out":               work,
		"/w/ci/out/x":             work + alter,
		"/tmp":                    work + " exec",
		"/tmp/x/y":                work + alter + " exec",
		"/proc/self/status":       look,
		"/deep":                   "stat",
		"/deep/down":              "stat",
		"/deep/up":                "",
		"/deep/down/below/x":      work + alter,
		"/run":                    "stat",
		"/run/agent.sock":         "stat connect",
		"/run/other.sock":         "",
		"/dev":                    "stat",
		"/dev/null":               work,
		"/dev/sda":                "",
		"/wide":                   "", // no prefix of names
		"/w/x.git/hooks":          work + alter + " exec",
		"/w/.git/hooks-old/thing": work + alter + " exec",
	} {
		for _, op := range profile.Ops() {
			wanted := strings.Contains(" "+want+" ", " "+op.String()+" ")
			if v := p.Allows(op, path); v.Allowed != wanted {
				t.Errorf("%s, want %v", v.Why, wanted)
			} else if v.Allowed && v.Private != (strings.HasPrefix(path, "/tmp") || strings.HasPrefix(path, "/proc")) {
				t.Errorf("%s: private %v", v.Why, v.Private)
			}
		}
	}
}

// The verdict names the rule that decided and where it comes from.
func TestVerdictNamesTheRule(t *testing.T) {
	t.Parallel()
	hide := profile.Rule{Kind: profile.Hide, Path: "/w", Name: ".env*", Origin: "project file:3"}
	p := mustNew(t, allow(all, "/w"), hide)
	if v := p.Allows(profile.OpRead, "/w/a/.env"); v.Rule != hide || !strings.Contains(v.Why, "project file:3") {
		t.Errorf("%+v", v)
	}
	if v := p.Allows(profile.OpRead, "/elsewhere"); v.Rule != (profile.Rule{}) ||
		!strings.Contains(v.Why, "no rule grants it") {
		t.Errorf("%+v", v)
	}
}

// At the same path the stricter rule holds, in whatever order they come.
func TestSamePathTheStricter(t *testing.T) {
	t.Parallel()
	strict := []profile.Rule{allow(all, "/x"), rule(profile.Private, "/x", ""), rule(profile.Protect, "/x", ""),
		rule(profile.Hide, "/x", "")}
	for i, a := range strict {
		for _, b := range strict[i:] {
			if kind, _, _ := mustNew(t, allow(all, "/"), a, b).Effective("/x"); kind != b.Kind &&
				!(a.Kind == profile.Private && b.Kind == profile.Protect) {
				t.Errorf("%s and %s: %s", a, b, kind)
			}
			if !mustNew(t, a, b).Equal(mustNew(t, b, a)) {
				t.Errorf("%s and %s: the order matters", a, b)
			}
		}
	}
	p := mustNew(t, allow(profile.Read|profile.Write, "/x"), allow(profile.Read|profile.Exec, "/x"))
	if _, access, _ := p.Effective("/x"); access != profile.Read {
		t.Errorf("allow with allow gave %s", access)
	}
	p = mustNew(t, rule(profile.Private, "/x", ""), rule(profile.Protect, "/x", ""))
	if kind, access, _ := p.Effective("/x"); kind != profile.Private || access.Has(profile.Write) {
		t.Errorf("private and protect: %s %s", kind, access)
	}
}

func TestAllowsRename(t *testing.T) {
	t.Parallel()
	p := mustNew(t, allow(all, "/w"), rule(profile.Protect, "/w", ".git/hooks"), rule(profile.Hide, "/w/a/b/secret", ""),
		allow(all, "/v"), allow(profile.Read, "/r"))
	for _, c := range []struct {
		from, to string
		below    []string
		want     bool
	}{
		{"/w/x", "/w/y", nil, true},
		{"/w/x", "/v/y", []string{"f", "d/g"}, true},
		{"/w/x", "/r/y", nil, false},
		{"/r/x", "/w/y", nil, false},
		{"/w", "/v/w", nil, false}, // its parent is not writable
		{"/w/a", "/w/z", []string{"b", "b/secret"}, false},
		{"/w/a", "/w/z", []string{"b", "b/other"}, true},
		{"/w/.git", "/w/.git.old", []string{"config", "hooks"}, false},
		{"/w/.git", "/w/.git.old", []string{"config"}, true},
		{"/w/evil", "/w/.git", []string{"hooks", "hooks/pre-commit"}, false}, // arriving under a protected name
	} {
		if v := p.AllowsRename(c.from, c.to, c.below); v.Allowed != c.want || v.Why == "" {
			t.Errorf("%+v: %v, %s", c, v.Allowed, v.Why)
		}
	}
}
