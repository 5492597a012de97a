package document_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sandboxd/profile/document"
)

const sample = `base = "nothing"
description = "a sample"

[paths]
read    = ["/usr", "~/.gitconfig"]
write   = ["${project}"]
exec    = ["/usr", "${project}"]
private = ["${tmp}", "${home}"]
protect = ["${project}/**/.git/hooks", ".envrc", "**/.vscode"]
hide    = ["/etc/**/*_key", "${project}/secret/"]
sockets = ["/run/tool.sock"]
devices = ["/dev/null"]

[network]
mode = "loopback"
listen_any = true

[environment]
pass = ["LANG", "LC_*"]
block = ["LC_SECRET*"]
set = { CI = "1" }

[limits]
wall = "10m"
memory = "4GiB"
output = 65536
processes = 64

[system]
syscalls = ["debug"]
processes = "own"
`

var here = document.Variables{Project: "/home/ann/app", Home: "/home/ann", Tmp: "/tmp"}

func TestDocumentToProfile(t *testing.T) {
	t.Parallel()
	d, err := document.Parse("sample.toml", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Profile(here)
	if err != nil {
		t.Fatal(err)
	}
	want := `allow read+write /dev/null
private read+write+exec /home/ann
allow read /home/ann/.gitconfig
allow read+write+exec /home/ann/app
hide /home/ann/app/secret
private read+write+exec /tmp
allow read+exec /usr
hide /etc/**/*_key
protect /home/ann/app/**/.envrc
protect /home/ann/app/**/.git/hooks
protect /home/ann/app/**/.vscode
guard hide /etc/**/*_key
guard protect /home/ann/app/**/.envrc
guard protect /home/ann/app/**/.git/hooks
guard protect /home/ann/app/**/.vscode
guard hide /home/ann/app/secret
socket /run/tool.sock
network loopback listen=any
environment pass=[LANG LC_*] block=[LC_SECRET*] set=[CI]
limits wall=10m0s memory=4GiB output=64KiB processes=64
syscalls ["debug"]
processes own
`
	if got := p.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Each rule has its line.
	for path, line := range map[string]int{"/usr": 5, "/home/ann/app/secret": 10, "/home/ann/app/x/.git/hooks": 9,
		"/tmp": 8} {
		if _, _, rule := p.Effective(path); rule.Origin != fmt.Sprintf("sample.toml:%d", line) {
			t.Errorf("%s comes from %q, want line %d", path, rule.Origin, line)
		}
	}
}

// A document that says nothing is a ceiling that takes nothing away; one that
// only hides takes away only that.
func TestCeiling(t *testing.T) {
	t.Parallel()
	session := session(t)
	for text, same := range map[string]bool{
		"":                                   true,
		"[paths]\nhide = [\"/nowhere\"]":     false, // a guard more
		"[network]\nmode = \"none\"":         false,
		"base = \"everything\"":              true,
		"[environment]\nblock = [\"OTHER\"]": true,
		"[limits]\nwall = \"1s\"":            false,
		"base = \"nothing\"":                 false,
	} {
		d, err := document.Parse("ceiling.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ceiling, err := document.Ceiling([]*document.Document{d}, here)
		if err != nil {
			t.Fatal(err)
		}
		if got := session.Intersect(ceiling).Equal(session); got != same {
			t.Errorf("%q: equal %v, want %v", text, got, same)
		}
		if !session.Intersect(ceiling).Within(session) {
			t.Errorf("%q widens", text)
		}
	}
}

// An error has file, line, column, and the correction.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"[paths]\nhid = [\"/x\"]", `x.toml:2:1: unknown key "paths.hid": did you mean "paths.hide"?`},
		{"[path]\nhide = [\"/x\"]", `x.toml:1:1: unknown key "path": did you mean "paths"?`},
		{"hide = [\"/x\"]", `x.toml:1:1: unknown key "hide": did you mean "paths.hide"?`},
		{"\n\n  deep.er.still = 1", `x.toml:3:3: unknown key "deep": there are ["base"`},
		{"[Paths]\nhide = [\"/x\"]", `x.toml:1:1: unknown key "Paths": did you mean "paths"?`},
		{"[paths]\nHide = [\"/x\"]", `x.toml:2:1: unknown key "paths.Hide": did you mean "paths.hide"?`},
		{"[paths]\nhide = \"/x\"", `x.toml:2:1: paths.hide: incompatible types`},
		{"[paths]\nhide = [1]", `x.toml:2:1: paths.hide: incompatible types`},
		{"[paths]\nread = [\n  \"/usr\",\n  \"usr\"]", `x.toml:4:3: path "usr" is not absolute`},
		{"[paths]\nread = [\"/usr/../etc\"]", `x.toml:2:9: path "/usr/../etc": .. is not allowed in it`},
		{"[paths]\nread = [\"${hom}/x\"]", `x.toml:2:9: path "${hom}/x": there are ${project}, ${home} and ${tmp}`},
		{"[paths]\nread = [\"${home\"]", `there are ${project}, ${home} and ${tmp}`},
		{"[paths]\nread = [\"${home}x\"]", `a / follows the variable`},
		{"[paths]\nread = [\"/x/${home}\"]", `a variable is allowed only at the start`},
		{"[paths]\nread = [\"/x/**/y\"]", `x.toml:2:9: path "/x/**/y": ** is allowed once, as PATH/**/NAME`},
		{"[paths]\nhide = [\"/x/**/a/**/b\"]", `x.toml:2:9: name "a/**/b"`},
		{"[paths]\nhide = ['/ok', '/x/**/[a']", `x.toml:2:16: name "[a": syntax error in pattern`},
		{"[paths]\nhide = [\"\"]", `is not absolute`},
		{"[paths]\nhide = [\"/x/**/\"]", `a name follows **/`},
		{"[paths]\ndevices = [\"/etc/passwd\"]", `x.toml:2:12: device "/etc/passwd" is not in /dev`},
		{"base = \"all\"", `x.toml:1:1: base "all": everything or nothing`},
		{"[network]\nmode = \"off\"", `x.toml:2:1: unknown network mode "off"`},
		{"[network]\nhosts = [\"example.com\"]", `x.toml:2:10: hosts are for mode "allowlist", and this is "full"`},
		{"[network]\nmode = \"allowlist\"\nhosts = [\"a b\"]", `x.toml:3:10: host "a b" is not a lower-case host name`},
		{"[network]\nlisten = [70000]", `x.toml:2:11: 70000 is out of range`},
		{"[environment]\npass = [\"A=B\"]", `x.toml:1:1: variable name "A=B"`},
		{"[environment]\nset = {A = 1}", `incompatible types`},
		{"[limits]\nwall = \"-1s\"", `x.toml:2:9: duration "-1s"`},
		{"[limits]\nwall = 5", `x.toml:2:8: duration "5"`},
		{"[limits]\nmemory = \"4 GiBi\"", `x.toml:2:11: size "4 GiBi"`},
		{"[limits]\nmemory = \"99999999TiB\"", `x.toml:2:11: size`},
		{"[limits]\nprocesses = -1", `x.toml:1:1: processes is negative`},
		{"[system]\nsyscalls = [\"bpf\"]", `x.toml:2:13: unknown group "bpf"`},
		{"[system]\nprocesses = \"all\"", `x.toml:2:1: processes "all": own or host`},
		{"[paths\n", `x.toml:2:7:`},
		{"a = \"\xff\"", `x.toml:1:`},
	} {
		d, err := document.Parse("x.toml", []byte(c.text))
		var at *document.Error
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "profile document x.toml:") {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		} else if !errors.As(err, &at) || at.Line == 0 || at.Col == 0 || d != nil {
			t.Errorf("%q: no place in %#v", c.text, err)
		}
	}
}

// R-OS-09: a ceiling may name hosts; what it prints reads the same.
func TestHostsOfADocument(t *testing.T) {
	t.Parallel()
	d, err := document.Parse("x.toml", []byte("[network]\nmode = \"allowlist\"\nhosts = [\"*.example.com:443\", "+
		"\"192.0.2.1:22\"]"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := document.Ceiling([]*document.Document{d}, document.Variables{Home: "/home/ann", Tmp: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	n := p.Network()
	if !n.AllowsHost("a.example.com", 443) || n.AllowsHost("example.com", 443) || n.AllowsHost("a.example.com", 80) ||
		!n.AllowsHost("192.0.2.1", 22) {
		t.Errorf("%+v", n)
	}
}

// A variable without a value fails when the profile is made, not silently.
func TestVariableWithoutValue(t *testing.T) {
	t.Parallel()
	d, err := document.Parse("x.toml", []byte("[paths]\nhide = [\"secrets\"]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Profile(document.Variables{Home: "/home/ann"}); err == nil ||
		!strings.Contains(err.Error(), "${project} has no value") {
		t.Errorf("got %v", err)
	}
}
