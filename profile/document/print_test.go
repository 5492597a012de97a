package document_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/profile/profiletest"
	"sandboxd/secret"
)

// expressible draws profiles that a document can hold: not those of the
// network mode that is not built yet.
func expressible() *rapid.Generator[profile.Profile] {
	return rapid.Custom(func(t *rapid.T) profile.Profile {
		spec := profiletest.Small().Spec().Draw(t, "spec")
		if spec.Network.Mode == profile.NetAllowlist {
			spec.Network.Mode, spec.Network.Hosts = profile.NetFull, nil
		}
		p, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// Parse∘Print is the identity on profiles: what Of prints makes the same
// profile again, whatever the variables.
func TestProfileSurvivesPrintAndParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := expressible().Draw(t, "p")
		d, err := document.Of(p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.Print()
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.Parse("printed", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		q, err := back.Profile(document.Variables{})
		if err != nil {
			t.Fatal(err)
		}
		if !p.Equal(q) {
			t.Fatalf("%s\nbecame\n%s\nby\n%s", p, q, text)
		}
	})
}

// documents draws documents as people might write them.
func documents() *rapid.Generator[document.Document] {
	paths := rapid.SliceOfN(rapid.SampledFrom([]string{"/", "/usr", "/a b", "~/x", "~", "${project}", "${home}/.cache",
		"${tmp}/é", "/a\"b", "/a\\b", "/a\tb"}), 0, 3)
	targets := rapid.SliceOfN(rapid.SampledFrom([]string{"/x", ".env*", "${project}/**/.git/hooks", "/**/[ab]", "**/id_*",
		"~/.ssh"}), 0, 3)
	names := rapid.SliceOfN(rapid.SampledFrom(profiletest.Variables), 0, 3)
	return rapid.Custom(func(t *rapid.T) document.Document {
		maybe := func(label string, g *rapid.Generator[[]string]) []string {
			if list := g.Draw(t, label); len(list) > 0 {
				return list
			}
			return nil
		}
		return document.Document{
			Base:        rapid.SampledFrom([]string{"", "everything", "nothing"}).Draw(t, "base"),
			Description: rapid.SampledFrom([]string{"", "it's \"so\"", "two\nlines"}).Draw(t, "description"),
			Paths: document.Paths{
				Read: maybe("read", paths), Write: maybe("write", paths), Exec: maybe("exec", paths),
				Private: maybe("private", paths),
				Protect: maybe("protect", targets), Hide: maybe("hide", targets), GuardHide: maybe("guard", targets),
				Sockets: maybe("sockets", paths),
			},
			Network: document.Network{
				Mode:   rapid.SampledFrom([]string{"", "none", "loopback", "full"}).Draw(t, "mode"),
				Listen: rapid.SampledFrom([][]uint16{nil, {}, {0}, {80, 443}}).Draw(t, "listen"),
			},
			Environment: document.Environment{
				Pass: rapid.SampledFrom([][]string{nil, {}, {"LANG", "LC_*"}}).Draw(t, "pass"), Block: maybe("block", names),
				Set: rapid.SampledFrom([]map[string]string{nil, {"A": "1"}, {"A": "x\ny", "B.C": "\x01"}}).Draw(t, "set"),
			},
			Limits: document.Limits{
				Wall:      document.Duration(rapid.SampledFrom([]int64{0, 1, 1e9, 3723e9}).Draw(t, "wall")),
				Memory:    document.Size(rapid.SampledFrom([]int64{0, 1, 1000, 1 << 30, 1<<40 + 1}).Draw(t, "memory")),
				Processes: rapid.IntRange(0, 2).Draw(t, "processes"),
			},
			System: document.System{Syscalls: rapid.SampledFrom([][]string{nil, {}, {"debug"}}).Draw(t, "syscalls"),
				Processes: rapid.SampledFrom([]string{"", "own", "host"}).Draw(t, "visibility")},
		}
	})
}

// Parse∘Print is the identity on documents, too: absent stays absent, empty
// stays empty, and no string is lost.
func TestDocumentSurvivesPrintAndParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := documents().Draw(t, "d")
		text, err := d.Print()
		if err != nil {
			t.Fatal(err)
		}
		back, err := document.Parse("printed", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, section := range []struct{ name, a, b any }{
			{"base", d.Base, back.Base}, {"description", d.Description, back.Description}, {"paths", d.Paths, back.Paths},
			{"network", d.Network, back.Network}, {"environment", d.Environment, back.Environment},
			{"limits", d.Limits, back.Limits}, {"system", d.System, back.System},
		} {
			if !reflect.DeepEqual(section.a, section.b) {
				t.Fatalf("%s: %#v became %#v\n%s", section.name, section.a, section.b, text)
			}
		}
		p, err := d.Profile(here)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := back.Profile(here); err != nil || !p.Equal(q) {
			t.Fatalf("another profile: %v", err)
		}
	})
}

// What no document can hold is refused, not written wrongly.
func TestOfRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/a/**/b", "/a/**", "/${home}", "/a\xff"} {
		p, err := profile.New(profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read, Path: path}}})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := document.Of(p); err == nil {
			t.Errorf("%q became %+v", path, d.Paths)
		}
	}
}

// Decoding is total: any text is a document or an *Error with a place inside
// the text; and what is a document prints and parses to the same profile.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("[paths]\nhide = [\"a\", '''b''', \"\"\"c\"\"\"]\n"))
	f.Add([]byte("paths.hide = [\"/x\"]\npaths.read = []\n"))
	f.Add([]byte("[environment]\nset = {\"a.b\" = \"c\"}\n[[x]]\n"))
	for _, p := range document.Presets() {
		text, err := p.Print()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := document.Parse("f", text)
		if err != nil {
			if at, ok := err.(*document.Error); !ok || at.Line < 0 || at.Col < 0 {
				t.Fatalf("%#v", err)
			}
			return
		}
		printed, err := d.Print()
		if err != nil {
			t.Fatal(err)
		}
		again, err := document.Parse("f", printed)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		p, err1 := d.Profile(here)
		q, err2 := again.Profile(here)
		if (err1 == nil) != (err2 == nil) || !p.Equal(q) {
			t.Fatalf("%v, %v:\n%s\n%s", err1, err2, text, printed)
		}
	})
}

// Presets name each path once, and pass no secret.
func TestPresets(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range document.Presets() {
		names = append(names, p.Name)
		if p.Description == "" {
			t.Errorf("%s has no description", p.Name)
		}
		for _, list := range [][]string{p.Paths.Read, p.Paths.Write, p.Paths.Exec} {
			if len(list) != len(maps.Collect(slices.All(slices.Compact(slices.Sorted(slices.Values(list)))))) {
				t.Errorf("%s names a path twice in %q", p.Name, list)
			}
		}
		for _, name := range p.Environment.Pass {
			if secret.Name(name) {
				t.Errorf("%s passes %s", p.Name, name)
			}
		}
	}
	if want := []string{"c", "git", "go", "jvm", "node", "python", "rust"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if _, err := document.FindPreset("pyton"); err == nil ||
		err.Error() != `profile preset "pyton": unknown, did you mean "python"?` {
		t.Errorf("got %v", err)
	}
}
