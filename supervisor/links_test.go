package supervisor

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox"
)

// A path leads where the kernel goes with it, and is loose where a command could have made
// the link.
func TestLinks(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"tree/sub", "out/a", "up"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"tree/link": base + "/out", "tree/sub/up": "../../up", "to-tree": "tree",
		"dangling": "gone/x", "loop": "loop",
		"chain": "to-tree/link", "dots": "tree/../out/./a"} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		path, real string
		loose      bool
	}{
		{"out/a", "out/a", false}, {"tree", "tree", false}, {"to-tree", "tree", false}, {"to-tree/sub", "tree/sub", false},
		{"tree/link", "out", true}, {"tree/link/a", "out/a", true}, {"to-tree/link/a/b", "out/a/b", true}, {"tree/sub/up",
			"up", true},
		{"chain/a", "out/a", true}, {"dots", "out/a", false}, {"dangling", "gone/x", false}, {"dangling/y", "gone/x/y",
			false}, {"loop", "loop", true},
		{"none/x", "none/x", false},
	} {
		l := newLinks([]string{filepath.Join(base, "tree")})
		real, loose := l.resolve(filepath.Join(base, row.path))
		if real != filepath.Join(base, row.real) || loose != row.loose {
			t.Errorf("%s leads to %s, loose %v; want %s, %v", row.path, strings.TrimPrefix(real, base+"/"), loose, row.real,
				row.loose)
		}
		if want, err := filepath.EvalSymlinks(filepath.Join(base, row.path)); err == nil && real != want {
			t.Errorf("%s leads to %s; the kernel goes to %s", row.path, real, want)
		}
	}
}

// R-OS-09: whatever layer names a path, a link in it that is changed while the daemon runs counts for
// the next command.
func TestLinksThatAreChanged(t *testing.T) {
	for _, row := range []struct {
		name, user, operator string
		from, to             profile.Kind // of the link's first target, before and after
		tool                 string       // what the shell tool has of it; "": nothing
	}{
		{"sandbox.hidden", "[sandbox]\nread = [\"BASE\"]\nhidden = [\"LINK/x\"]\n", "", profile.Hide, profile.Allow,
			"hidden"},
		{"sandbox.hidden, by name", "[sandbox]\nread = [\"BASE\"]\nhidden = [\"LINK/**/x\"]\n", "", profile.Hide,
			profile.Allow, "hidden"},
		{"sandbox.read_only", "[sandbox]\nwrite = [\"BASE/a\", \"BASE/b\"]\nread_only = [\"LINK/x\"]\n", "",
			profile.Protect, profile.Allow, "protected"},
		{"approval.rule_program", "[sandbox]\nwrite = [\"BASE/a\", \"BASE/b\"]\n[approval]\nrule_program = \"LINK/x\"\n",
			"", profile.Protect, profile.Allow, "protected"},
		{"sandbox.read", "[sandbox]\nread = [\"LINK\"]\n", "", profile.Allow, profile.Private, "read"},
		{"sandbox.write", "[sandbox]\nwrite = [\"LINK\"]\n", "", profile.Allow, profile.Private, "read"},
		{"files.paths", "[files.paths.x]\nroot = \"LINK\"\nmode = \"rw\"\n", "", profile.Allow, profile.Private, ""},
		{"hide", "[sandbox]\nread = [\"BASE\"]\n", "[paths]\nhide = [\"LINK/x\"]\n", profile.Hide, profile.Allow, ""},
		{"hide, by name", "[sandbox]\nread = [\"BASE\"]\n", "[paths]\nhide = [\"LINK/**/x\"]\n", profile.Hide,
			profile.Allow, ""},
		{"protect", "[sandbox]\nwrite = [\"BASE\"]\n", "[paths]\nprotect = [\"LINK/x\"]\n", profile.Protect, profile.Allow,
			""},
		{"private", "[sandbox]\nread = [\"BASE\"]\n", "[paths]\nprivate = [\"LINK/x\"]\n", profile.Private, profile.Allow,
			""},
		{"read", "[sandbox]\nread = [\"BASE\"]\n", "base = \"nothing\"\n[paths]\nread = [\"LINK/x\"]\n", profile.Allow,
			profile.Hide, ""},
		{"write", "[sandbox]\nread = [\"BASE\"]\n", "base = \"nothing\"\n[paths]\nwrite = [\"LINK/x\"]\n", profile.Allow,
			profile.Hide, ""},
		{"exec", "[sandbox]\nread = [\"BASE\"]\n", "base = \"nothing\"\n[paths]\nexec = [\"LINK/x\"]\n", profile.Allow,
			profile.Hide, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, sess, base := linked(t, row.user, row.operator)
			look := func(target string) (kind profile.Kind, judged bool) {
				t.Helper()
				c, err := s.compile(sess)
				if err != nil {
					t.Fatal(err)
				}
				p, _, err := s.profiles(c.cfg, sess, true, "")
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(base, target, "x")
				kind, _, _ = p.Effective(file)
				list := map[string][]string{"hidden": c.cfg.Shell.Hidden, "protected": c.cfg.Shell.Protected,
					"read": c.cfg.Shell.ReadRoots}[row.tool]
				return kind, slices.ContainsFunc(list, func(path string) bool {
					return abspath.Contains(strings.ReplaceAll(path,
						"/**", ""), file)

				})
			}
			for _, now := range []string{"a", "b", "a"} {
				retarget(t, filepath.Join(base, "link"), now)
				for _, target := range []string{"a", "b"} {
					want := row.to
					if target == now {
						want = row.from
					}
					kind, judged := look(target)
					if kind != want {
						t.Errorf("the link leads to %s: %s/x is %v, want %v", now, target, kind, want)
					}
					if judged != (row.tool != "" && target == now) {
						t.Errorf("the link leads to %s: for the shell tool %s/x is %s: %v", now, target, row.tool, judged)
					}
				}
			}
		})
	}
}

// linked returns a daemon's supervisor with a configuration in which BASE is a folder and LINK a
// link in it, which leads to the folder a beside it.
func linked(t *testing.T, user, operator string) (*Supervisor, *Session, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	retarget(t, filepath.Join(base, "link"), "a")
	fill := strings.NewReplacer("BASE", base, "LINK", filepath.Join(base, "link"))
	etc := t.TempDir()
	paths := config.Paths{User: filepath.Join(etc, "config.toml"), ProfileDir: filepath.Join(etc, "profile.d")}
	if err := os.Mkdir(paths.ProfileDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{paths.User: user, filepath.Join(paths.ProfileDir, "op.toml"): operator} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(file, []byte(fill.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"a", "b"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, dir, "x"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cfg, warnings, err := config.Load(paths)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	home := t.TempDir()
	return &Supervisor{Host: watching(t), config: cfg}, &Session{Root: t.TempDir(), Home: home, User: "eve"}, base
}

// watching returns a host that runs nothing and knows which directories have changed.
func watching(t *testing.T) *sandbox.Host {
	t.Helper()
	h, err := sandbox.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// What is noted of links counts exactly as long as asking all again gives the same answers, whatever changes in between
// (R-OS-09).
func TestLinksStill(t *testing.T) {
	host := watching(t)
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "links")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		names := []string{"a", "b", "a/c", "a/c/d", "b/e", "tree", "tree/l"}
		name := func(label string) string { return filepath.Join(base, rapid.SampledFrom(names).Draw(t, label)) }
		look := func(state func(string) uint64) *links {
			l := newLinks([]string{filepath.Join(base, "tree")})
			l.state = state
			return l
		}
		ask := func(l *links) *links {
			for _, n := range names {
				l.resolve(filepath.Join(base, n, "x"))
			}
			return l
		}
		change := map[string]func(*rapid.T){
			"directory": func(t *rapid.T) { os.Mkdir(name("at"), 0o755) },
			"file":      func(t *rapid.T) { os.WriteFile(name("at"), nil, 0o644) },
			"link":      func(t *rapid.T) { os.Symlink(name("to"), name("at")) },
			"remove":    func(t *rapid.T) { os.RemoveAll(name("at")) },
			"rename":    func(t *rapid.T) { os.Rename(name("from"), name("to")) },
		}
		draw := func() {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				change[rapid.SampledFrom(slices.Sorted(maps.Keys(change))).Draw(t, "change")](t)
			}
		}
		draw()
		noted := ask(look(host.DirStates()))
		for range 8 {
			draw()
			now := ask(look(nil))
			want := maps.Equal(noted.asked, now.asked)
			if got := noted.still(look(host.DirStates())); got != want {
				t.Fatalf("still is %v; asking again says %v:\n%v\n%v", got, want, noted.asked, now.asked)
			}
			if !want {
				noted = ask(look(host.DirStates()))
			}
		}
	})
}

func retarget(t *testing.T, link, target string) {
	t.Helper()
	os.Remove(link)
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

// What a judgement asks of the links takes a part of what deriving takes.
func BenchmarkProfiles(b *testing.B) {
	base, home := b.TempDir(), b.TempDir()
	host, err := sandbox.Open(b.Context(), sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, sess := &Supervisor{Host: host}, &Session{Root: base, Home: home, User: "eve"}
	cfg, _, err := config.Load(config.Paths{})
	if err != nil {
		b.Fatal(err)
	}
	s.config = cfg
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.profiles(cfg, sess, true, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("derived", func(b *testing.B) {
		for b.Loop() {
			s.derived = kept[profileKey, derived]{}
			if _, _, err := s.profiles(cfg, sess, true, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
}
