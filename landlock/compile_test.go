package landlock_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
)

const (
	r   = profile.Read
	rw  = profile.Read | profile.Write
	rx  = profile.Read | profile.Exec
	rwx = profile.Read | profile.Write | profile.Exec
)

// tree makes a snapshot: "/dir/" is a directory, "/link -> target" a link,
// everything else a file.
func tree(lines ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, line := range lines {
		path, target, isLink := strings.Cut(line, " -> ")
		path, isDir := strings.CutSuffix(path, "/")
		f := &fstest.MapFile{Mode: 0o644}
		switch {
		case isLink:
			f = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}
		case isDir:
			f.Mode = fs.ModeDir | 0o755
		}
		m[strings.TrimPrefix(path, "/")] = f
	}
	return m
}

func mustNew(t testing.TB, spec profile.Spec) profile.Profile {
	t.Helper()
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func allow(a profile.Access, path string) profile.Rule {
	return profile.Rule{Kind: profile.Allow, Access: a, Path: path}
}

func compile(t testing.TB, p profile.Profile, abi int, h landlock.Host) (lsm.Ruleset, []profile.Gap) {
	t.Helper()
	ruleset, gaps, err := landlock.Compile(p, abi, h)
	if err != nil {
		t.Fatal(err)
	}
	return ruleset, gaps
}

func names(gaps []profile.Gap) string {
	var out []string
	for _, g := range gaps {
		out = append(out, strings.TrimSpace(g.Protection+" "+g.Object))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got, want = strings.TrimSpace(got), strings.TrimSpace(want); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// every is a profile with something of each kind that Landlock can tell apart.
func every(t testing.TB) profile.Profile {
	return mustNew(t, profile.Spec{
		Rules: []profile.Rule{
			allow(rx, "/usr"), allow(rwx, "/p"), allow(rw, "/dev/tty"),
			{Kind: profile.Protect, Path: "/p", Name: ".git/hooks"},
			{Kind: profile.Private, Path: "/tmp"},
		},
		UnixSockets: []string{"/run/sock"},
		Network:     profile.Network{Mode: profile.NetFull, Listen: []uint16{0, 8080}},
	})
}

var everyHost = tree("/usr/bin/sh", "/p/main.go", "/dev/tty", "/run/sock", "/tmp/")

var update = flag.Bool("update", false, "write the golden files instead of comparing")

// TestABIs compiles one profile for a fake kernel of every known ABI and of
// one beyond, in both places: acceptance 5 of "one profile, four mechanisms".
func TestABIs(t *testing.T) {
	for file, host := range map[string]landlock.Host{
		"testdata/alone.txtar":  {FS: everyHost, Euid: 1000, Errata: ^lsm.Errata(0), Audit: true},
		"testdata/inside.txtar": {FS: everyHost, Place: landlock.Inside},
	} {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, _, _ := strings.Cut(string(want), "-- ABI 1 --\n")
		got := comment
		for abi := 1; abi <= lsm.Newest+1; abi++ {
			ruleset, gaps := compile(t, every(t), abi, host)
			got += fmt.Sprintf("-- ABI %d --\n%vgaps %s\n", abi, ruleset, names(gaps))
		}
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		same(t, file, got, string(want))
	}
}

func TestCompileRefuses(t *testing.T) {
	good := landlock.Host{FS: tree(), Euid: 1000}
	if _, _, err := landlock.Compile(profile.Profile{}, 0, good); !errors.Is(err, lsm.ErrUnavailable) {
		t.Errorf("ABI 0: %v", err)
	}
	if _, _, err := landlock.Compile(profile.Profile{}, 7, landlock.Host{FS: tree()}); !errors.Is(err, landlock.ErrRoot) {
		t.Errorf("root alone: %v", err)
	}
	if _, _, err := landlock.Compile(profile.Profile{}, 7, landlock.Host{Euid: 1000}); err == nil {
		t.Error("no file system: accepted")
	}
	if _, _, err := landlock.Compile(profile.Profile{}, 7, landlock.Host{FS: tree(), Place: landlock.Inside}); err != nil {
		t.Errorf("root inside mounts: %v", err)
	}
}

// TestNarrow (R-OS-04): what is denied inside what is granted.
func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		name  string
		place landlock.Place
		host  fstest.MapFS
		rules []profile.Rule
		want  string
		gaps  string
	}{{
		name:  "a directory is hidden: its neighbours are granted",
		host:  tree("/p/secret/k", "/p/a/", "/p/f"),
		rules: []profile.Rule{allow(r, "/p"), {Kind: profile.Hide, Path: "/p/secret"}},
		want:  "/p/a read_file,read_dir\n/p/f read_file",
		gaps:  "narrowed /p",
	}, {
		name:  "a file is hidden: its directory can still be listed",
		host:  tree("/p/.env", "/p/a/", "/p/f"),
		rules: []profile.Rule{allow(r, "/p"), {Kind: profile.Hide, Path: "/p/.env"}},
		want:  "/p read_dir\n/p/a read_file\n/p/f read_file",
		gaps:  "narrowed /p",
	}, {
		name:  "a file is protected: it cannot be removed, nor what holds it",
		host:  tree("/p/d/guarded", "/p/d/f", "/p/e/"),
		rules: []profile.Rule{allow(rw, "/p"), {Kind: profile.Protect, Path: "/p/d/guarded"}},
		want: "/p read_file,read_dir,make_dir,make_sym\n/p/d remove_dir\n/p/d/f write_file,truncate\n" +
			"/p/e write_file,remove_dir,remove_file,make_reg,make_sock,make_fifo,refer,truncate",
		gaps: "narrowed /p, narrowed /p/d",
	}, {
		name:  "what is absent is denied, too",
		host:  tree("/p/a/"),
		rules: []profile.Rule{allow(r, "/p"), {Kind: profile.Hide, Path: "/p/x"}},
		want:  "/p/a read_file,read_dir",
		gaps:  "narrowed /p",
	}, {
		name:  "less below, more below that",
		host:  tree("/p/a/b/", "/p/c/"),
		rules: []profile.Rule{allow(rx, "/p"), allow(r, "/p/a"), allow(rx, "/p/a/b")},
		want:  "/p read_file,read_dir\n/p/a/b execute\n/p/c execute",
		gaps:  "narrowed /p",
	}, {
		name:  "names at any depth",
		host:  tree("/p/d/k.key", "/p/d/f", "/q/k.key"),
		rules: []profile.Rule{allow(r, "/p"), allow(r, "/q"), {Kind: profile.Hide, Path: "/p", Name: "*.key"}},
		want:  "/p read_dir\n/p/d/f read_file\n/q read_file,read_dir",
		gaps:  "narrowed /p, narrowed /p/d",
	}, {
		name:  "names that protect need no search where nothing may be written",
		host:  tree("/p/d/k.key"),
		rules: []profile.Rule{allow(r, "/p"), {Kind: profile.Protect, Path: "/", Name: "*.key"}},
		want:  "/p read_file,read_dir",
	}, {
		name:  "what a hidden link leads to is denied",
		host:  tree("/h/.ssh -> ../d/keys", "/d/keys/id", "/d/f"),
		rules: []profile.Rule{allow(r, "/h"), allow(r, "/d"), {Kind: profile.Hide, Path: "/h/.ssh"}},
		want:  "/d/f read_file\n/h read_file,read_dir",
		gaps:  "narrowed /d, narrowed /d/keys",
	}, {
		name:  "links are no objects",
		host:  tree("/usr/bin/sh", "/bin -> usr/bin", "/other -> /etc"),
		rules: []profile.Rule{allow(rx, "/usr"), allow(rx, "/bin"), allow(rx, "/other")},
		want:  "/usr execute,read_file,read_dir",
		gaps:  "narrowed /other",
	}, {
		name:  "nothing private alone, but /proc to read",
		host:  tree("/proc/", "/tmp/"),
		rules: []profile.Rule{{Kind: profile.Private, Path: "/proc"}, {Kind: profile.Private, Path: "/tmp"}},
		want:  "/proc read_file,read_dir",
	}, {
		name:  "inside, a private directory is no link, whatever the host has there",
		place: landlock.Inside,
		host:  tree("/data/tmp/", "/tmp -> data/tmp", "/var -> data", "/data/log"),
		rules: []profile.Rule{{Kind: profile.Private, Path: "/tmp"}, {Kind: profile.Private, Path: "/var/tmp"}, allow(r, "/var/log")},
		want: "/ read_dir\n/tmp execute,write_file,read_file,read_dir,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,make_sym,refer,truncate\n" +
			"/var/tmp execute,write_file,read_file,read_dir,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,make_sym,refer,truncate",
		gaps: "narrowed /var/log",
	}, {
		name:  "inside, mounts hide and protect",
		place: landlock.Inside,
		host:  tree("/p/secret/k", "/p/a/"),
		rules: []profile.Rule{allow(rwx, "/p"), {Kind: profile.Hide, Path: "/p/secret"}, {Kind: profile.Protect, Path: "/p/a"}},
		want:  "/ read_dir\n/p execute,write_file,read_file,read_dir,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,make_sym,refer,truncate",
	}, {
		name:  "inside, only Landlock holds execution",
		place: landlock.Inside,
		host:  tree("/p/data/", "/p/a/", "/p/f", "/home/"),
		rules: []profile.Rule{allow(rx, "/p"), allow(r, "/p/data"), {Kind: profile.Private, Path: "/home"}, allow(r, "/home/absent")},
		want: "/ read_dir\n/home execute,write_file,read_file,read_dir,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,make_sym,refer,truncate\n" +
			"/p read_file,read_dir\n/p/a execute\n/p/f execute",
		gaps: "narrowed /p",
	}} {
		t.Run(c.name, func(t *testing.T) {
			p := mustNew(t, profile.Spec{Rules: c.rules})
			ruleset, gaps := compile(t, p, 7, landlock.Host{FS: c.host, Euid: 1000, Place: c.place})
			var got []string
			for _, rule := range ruleset.Paths {
				got = append(got, rule.Path+" "+rule.Access.String())
			}
			same(t, "rules", strings.Join(got, "\n"), c.want)
			gaps = slices.DeleteFunc(gaps, func(g profile.Gap) bool { return g.Protection != "narrowed" || g.Object == "" })
			same(t, "gaps", names(gaps), c.gaps)
		})
	}
}

func TestNetwork(t *testing.T) {
	for _, c := range []struct {
		network profile.Network
		place   landlock.Place
		want    string
	}{
		{profile.Network{}, landlock.Alone, "bind_tcp,connect_tcp,bind_udp,connect_send_udp []"},
		{profile.Network{}, landlock.Inside, "bind_tcp,connect_tcp,bind_udp,connect_send_udp []"},
		{profile.Network{Mode: profile.NetLoopback, ListenAny: true}, landlock.Alone,
			"bind_tcp,connect_tcp,bind_udp,connect_send_udp []"},
		{profile.Network{Mode: profile.NetLoopback, Listen: []uint16{80}}, landlock.Alone,
			"bind_tcp,connect_tcp,bind_udp,connect_send_udp [{80 bind_tcp}]"},
		{profile.Network{Mode: profile.NetLoopback, Listen: []uint16{80}}, landlock.Inside, "bind_tcp [{80 bind_tcp}]"},
		{profile.Network{Mode: profile.NetLoopback, ListenAny: true}, landlock.Inside, "- []"},
		{profile.Network{Mode: profile.NetFull}, landlock.Alone, "bind_tcp []"},
		{profile.Network{Mode: profile.NetFull, ListenAny: true}, landlock.Alone, "- []"},
	} {
		p := mustNew(t, profile.Spec{Network: c.network})
		ruleset, _ := compile(t, p, lsm.Newest, landlock.Host{FS: tree(), Euid: 1000, Place: c.place})
		same(t, fmt.Sprint(c.network, c.place), fmt.Sprint(ruleset.HandledNet, " ", ruleset.Ports), c.want)
	}
}

func TestScopes(t *testing.T) {
	for visibility, want := range map[profile.Visibility]string{
		profile.ProcessesOwn: "abstract_unix_socket,signal", profile.ProcessesHost: "abstract_unix_socket",
	} {
		ruleset, _ := compile(t, mustNew(t, profile.Spec{Processes: visibility}), 6, landlock.Host{FS: tree(), Euid: 1})
		same(t, visibility.String(), ruleset.Scoped.String(), want)
	}
}
