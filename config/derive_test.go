package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/profile"
	"sandboxd/profile/document"
)

// The configuration as document.Derive takes it, and the profile that comes of it.
func TestTools(t *testing.T) {
	base, _ := load(t, "", `
[sandbox]
read = ["~/shared", "data"]
write = ["/srv/out"]
hidden = ["/srv/out/secret", "*.pem", "conf/keys"]
read_only = ["vendor"]
[files]
protected = ["main.py"]
read_only = ["gen"]
[network]
mode = "full"
allow = ["a.example:443"]
[presets]
use = ["go"]
[files.paths.here]
root = "."
mode = "rw"
[files.paths.notes]
root = "notes"
`)
	project := t.TempDir()
	cfg, _, err := base.ForProject(project)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := cfg.ProfileTools(Session{Project: project, Trusted: true, Home: "/home/ann"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"read", tools.Read, []string{"/home/ann/shared", filepath.Join(project, "data")}},
		{"write", tools.Write, []string{"/srv/out"}},
		{"protected", tools.Protected, []string{"main.py", "gen", "vendor"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	for _, want := range []string{"/srv/out/secret", "*.pem", filepath.Join(project, "conf/keys")} {
		if !slices.Contains(tools.Hidden, want) {
			t.Errorf("hidden lacks %q: %q", want, tools.Hidden)
		}
	}
	p, err := document.Derive(tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		op   profile.Op
		path string
		want bool
	}{
		{profile.OpWrite, filepath.Join(project, "a.go"), true},
		{profile.OpWrite, filepath.Join(project, "notes/a"), false},
		{profile.OpRead, filepath.Join(project, "notes/a"), true},
		{profile.OpWrite, filepath.Join(project, "vendor/a"), false},
		{profile.OpWrite, filepath.Join(project, "sub/main.py"), false},
		{profile.OpWrite, filepath.Join(project, "gen/a"), false},
		{profile.OpRead, filepath.Join(project, "conf/keys/a"), false},
		{profile.OpRead, filepath.Join(project, "x/y.pem"), false},
		{profile.OpRead, filepath.Join(project, "sub/.ssh/id_rsa"), false},
		{profile.OpRead, "/srv/out/secret", false},
		{profile.OpWrite, "/srv/out/x", true},
	} {
		if v := p.Allows(c.op, c.path); v.Allowed != c.want {
			t.Errorf("%v %s: got %v (%s), want %v", c.op, c.path, v.Allowed, v.Why, c.want)
		}
	}
}

func TestCeiling(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { writeFile(t, filepath.Join(dir, name), text) }
	write("a.toml", "[paths]\nhide = [\"/srv/a\"]\n")
	write("b.toml", "[paths]\nhide = [\"/srv/b\"]\n")
	cfg, _, err := Load(Paths{ProfileDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Ceiling(document.Variables{Project: "/p", Home: "/h", Tmp: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/srv/a": false, "/srv/b": false, "/srv/c": true} {
		if got := p.Allows(profile.OpRead, path).Allowed; got != want {
			t.Errorf("read %s under both profiles: %v, want %v", path, got, want)
		}
	}
}

// R-OS-09: hosts of presets come only where they are chosen, an entry without a
// port means [network] ports, and an empty list is nothing.
func TestHostsOfTheAllowlist(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"allow = []", ""},
		{"allow = [\"a.example\"]", "a.example:80 a.example:443"},
		{"allow = [\"A.Example.\", \"b\u00fccher.example:1\"]\nports = [8443]", "a.example:8443 xn--bcher-kva.example:1"},
		{"allow = [\"[2001:DB8:0::1]:22\"]", "[2001:db8::1]:22"},
		{"presets = [\"rust\"]\nports = []\nallow = [\"a.example\"]",
			"crates.io:443 index.crates.io:443 static.crates.io:443"},
	} {
		cfg, _ := load(t, "", "[presets]\nuse = [\"go\"]\n[network]\nmode = \"allowlist\"\n"+c.text)
		tools, err := cfg.ProfileTools(Session{Project: "/p", Home: "/home/ann"})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var got []string
		for _, h := range tools.Network.Hosts {
			got = append(got, h.String())
		}
		want := strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.text, got, want)
		}
	}
}

// A configuration that every request would be refused by is refused itself.
func TestUnderivable(t *testing.T) {
	_, _, err := Load(Paths{User: write(t, "user.toml", "[files.paths.x]\nroot = \"${project}/x\"\n")})
	if err == nil || !strings.Contains(err.Error(), `:2:1: files.paths.x.root: files.paths "x": root "${project}/x"`) {
		t.Errorf("got %v", err)
	}
}
