package seatbelt

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// Whatever paths and names are called, the text has the same meaning: no name ends a string, opens a parenthesis or
// loosens an expression.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"secret", `a")(allow default)(deny file* (subpath "`, `\`, "a\nb", ";", "#\"",
		"(param \"P0\")", "=", "-D", "[a-", "é", "*", "$(id)", "P1=/"} {
		f.Add(s, s)
		f.Add(s, ".git/hooks")
		f.Add("x", s+"/"+s)
	}
	f.Fuzz(func(t *testing.T, element, name string) {
		hidden := path.Join("/p", element)
		if hidden == "/p" || !abspath.Contains("/p", hidden) || !utf8.ValidString(element) {
			return
		}
		p, err := profile.New(profile.Spec{Rules: []profile.Rule{
			{Kind: profile.Allow, Access: everything, Path: "/p"},
			{Kind: profile.Hide, Path: hidden},
			{Kind: profile.Protect, Path: "/p", Name: name},
		}, UnixSockets: []string{hidden + "/socket"}})
		if err != nil {
			return
		}
		r, err := Host{Found: []string{hidden}}.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Text {
			if c > '~' {
				t.Fatalf("%q reached the text", c)
			}
		}
		text, err := understand(r)
		if err != nil {
			t.Fatalf("%v\n%s", err, r.Text)
		}
		for _, at := range []string{"/", "/q", "/p", hidden, hidden + "/x", "/p/plain", "/p/" +
			strings.ReplaceAll(name, "\\", ""), "/p/x/" + name} {
			if path.Clean(at) != at || strings.Contains(at, "\x00") {
				continue
			}
			for _, op := range []profile.Op{profile.OpRead, profile.OpWrite, profile.OpExec, profile.OpConnect} {
				if at == "/" && op == profile.OpRead {
					continue
				}
				if v := p.Allows(op, at); text.allows(t, query{op: asked[op][0], path: at}) && !v.Allowed {
					t.Errorf("%s %q is let through: %+v\n%s\n%q", op, at, v, r.Text, r.Params)
				}
			}
		}
	})
}
