package bwrap_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

const (
	r   = profile.Read
	rw  = profile.Read | profile.Write
	rx  = profile.Read | profile.Exec
	rwx = profile.Read | profile.Write | profile.Exec
)

// tree makes a snapshot: "/dir/" is a directory, "/link -> target" a link,
// "/sock =" a socket, everything else a file.
func tree(lines ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, line := range lines {
		path, target, isLink := strings.Cut(line, " -> ")
		path, isSocket := strings.CutSuffix(path, " =")
		path, isDir := strings.CutSuffix(path, "/")
		f := &fstest.MapFile{Mode: 0o644}
		switch {
		case isLink:
			f = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}
		case isSocket:
			f.Mode = fs.ModeSocket | 0o755
		case isDir:
			f.Mode = fs.ModeDir | 0o755
		}
		m[strings.TrimPrefix(path, "/")] = f
	}
	return m
}

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

func rule(k profile.Kind, path string) profile.Rule { return profile.Rule{Kind: k, Path: path} }

func named(k profile.Kind, path, name string) profile.Rule {
	return profile.Rule{Kind: k, Path: path, Name: name}
}

func compile(t testing.TB, host fstest.MapFS, p profile.Profile, extra ...profile.Profile) bwrap.Result {
	t.Helper()
	result, err := bwrap.Compile(p, extra, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: host, Euid: 1000,
		Descriptor: 10})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// layout prints the mounts, one a line.
func layout(r bwrap.Result) string {
	var lines []string
	for _, m := range r.Layout {
		lines = append(lines, m.String())
	}
	return strings.Join(lines, "\n")
}

func gaps(r bwrap.Result) []string {
	var out []string
	for _, g := range r.Gaps {
		out = append(out, g.Protection+" "+g.Object)
	}
	return out
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got, want = strings.TrimSpace(got), strings.TrimSpace(want); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name  string
		host  fstest.MapFS
		rules []profile.Rule
		want  string
		gaps  []string
	}{{
		name:  "a system with merged directories",
		host:  tree("/usr/bin/", "/bin -> usr/bin"),
		rules: []profile.Rule{allow(rx, "/usr"), allow(rx, "/bin"), allow(rx, "/lib32")},
		want:  "directory /\nlink /bin\nread-only /usr",
	}, {
		name:  "the machine, read-only",
		host:  tree("/proc/", "/tmp/", "/root/"),
		rules: []profile.Rule{allow(rx, "/"), rule(profile.Private, "/tmp"), rule(profile.Hide, "/root"), rule(profile.Hide, "/nothing")},
		want:  "read-only /\nproc /proc\nhidden directory /root\nprivate /tmp",
	}, {
		name:  "read-only inside writable is pinned",
		host:  tree("/p/a/b/c/", "/p/f"),
		rules: []profile.Rule{allow(rwx, "/p"), rule(profile.Protect, "/p/a/b/c"), allow(rx, "/p/f")},
		want:  "directory /\nwritable /p\npin /p/a\nread-only /p/f\npin /p/a/b\nread-only /p/a/b/c",
	}, {
		name:  "writable inside read-only, and again",
		host:  tree("/p/a/b/c/"),
		rules: []profile.Rule{allow(rx, "/p"), allow(rwx, "/p/a"), allow(rx, "/p/a/b"), allow(rwx, "/p/a/b/c")},
		want:  "directory /\nread-only /p\nwritable /p/a\nread-only /p/a/b\nwritable /p/a/b/c",
	}, {
		name:  "a grant below a hidden directory shows just itself",
		host:  tree("/p/a/b/c/", "/p/a/secret"),
		rules: []profile.Rule{allow(rwx, "/p"), rule(profile.Hide, "/p/a"), allow(rx, "/p/a/b/c")},
		want:  "directory /\nwritable /p\nhidden directory /p/a\ndirectory /p/a/b\nread-only /p/a/b/c",
	}, {
		name:  "a hidden file, a hidden socket",
		host:  tree("/p/.env", "/p/sock ="),
		rules: []profile.Rule{allow(rwx, "/p"), rule(profile.Hide, "/p/.env"), rule(profile.Hide, "/p/sock")},
		want:  "directory /\nwritable /p\nhidden file /p/.env\nhidden file /p/sock",
	}, {
		name:  "what does not exist is not made on the host",
		host:  tree("/p/"),
		rules: []profile.Rule{allow(rwx, "/p"), rule(profile.Hide, "/p/x"), rule(profile.Protect, "/p/y/z"), rule(profile.Private, "/p/cache"), allow(rwx, "/q")},
		want:  "directory /\nwritable /p",
		gaps:  []string{"hide /p/x", "narrowed /q", "private /p/cache", "protect /p/y/z"},
	}, {
		name:  "no link is followed (CVE-2026-87766)",
		host:  tree("/p/link -> /etc", "/p/real/", "/etc/passwd"),
		rules: []profile.Rule{allow(rwx, "/p"), rule(profile.Hide, "/p/link/passwd"), allow(rx, "/p/link"), rule(profile.Private, "/p/real")},
		want:  "directory /\nwritable /p\nprivate /p/real",
		gaps:  []string{"hide /p/link/passwd", "protect /p/link"},
	}, {
		name:  "what a hidden link leads to is hidden, too",
		host:  tree("/home/.ssh -> /data/keys", "/data/keys/id"),
		rules: []profile.Rule{allow(rwx, "/home"), allow(rx, "/data"), rule(profile.Hide, "/home/.ssh")},
		want:  "directory /\nread-only /data\nwritable /home\nhidden directory /data/keys",
		gaps:  []string{"hide /home/.ssh", "narrowed /data/keys"},
	}, {
		name: "a private home with holes",
		host: tree("/home/u/.cache/go/", "/home/u/.ssh/", "/home/u/.gitconfig"),
		rules: []profile.Rule{
			rule(profile.Private, "/home/u"), allow(rwx, "/home/u/.cache/go"), allow(r, "/home/u/.gitconfig"),
			rule(profile.Hide, "/home/u/.ssh"), rule(profile.Protect, "/home/u/.bashrc"), allow(r, "/home/u/.npm"),
		},
		want: "directory /\ndirectory /home\nprivate /home/u\nempty file /home/u/.bashrc\nread-only /home/u/.gitconfig\nhidden file /home/u/.ssh\nwritable /home/u/.cache/go",
		gaps: []string{"vacant "},
	}, {
		name:  "names at any depth, but not in other people's code",
		host:  tree("/p/.git/hooks/", "/p/.git/objects/.git/hooks/", "/p/sub/.git/hooks/pre-commit", "/p/node_modules/x/.git/hooks/", "/p/.git/config"),
		rules: []profile.Rule{allow(rwx, "/p"), named(profile.Protect, "/p", ".git/hooks"), named(profile.Hide, "/p", ".git/config")},
		want: "directory /\nwritable /p\npin /p/.git\npin /p/sub\nhidden file /p/.git/config\nread-only /p/.git/hooks\n" +
			"pin /p/sub/.git\nread-only /p/sub/.git/hooks",
		gaps: []string{"later names /p", "names /p/node_modules"},
	}, {
		name:  "a name that hides a directory above a grant",
		host:  tree("/p/.env/a/"),
		rules: []profile.Rule{allow(rwx, "/p"), named(profile.Hide, "/p", ".env"), allow(rx, "/p/.env/a")},
		want:  "directory /\nwritable /p\nhidden directory /p/.env\nread-only /p/.env/a",
		gaps:  []string{"later names /p"},
	}, {
		name:  "sockets in what is only readable",
		host:  tree("/p/a/sock =", "/p/w/sock ="),
		rules: []profile.Rule{allow(rx, "/p"), allow(rwx, "/p/w")},
		want:  "directory /\nread-only /p\nwritable /p/w\nhidden file /p/a/sock\nhidden file /p/w/sock",
		gaps:  []string{"narrowed /p/w/sock"},
	}, {
		name: "terminals need bwrap's own /dev; its nodes that no rule grants are hidden",
		host: tree("/proc/", "/dev/pts/", "/dev/null", "/dev/tty", "/dev/dri/card0"),
		rules: []profile.Rule{
			rule(profile.Private, "/proc"), rule(profile.Private, "/dev/pts"), rule(profile.Private, "/dev/shm"),
			allow(rw, "/dev/null"), allow(rw, "/dev/tty"), allow(rw, "/dev/dri/card0"),
		},
		want: "directory /\ndev /dev\nproc /proc\ndirectory /dev/dri\nhidden file /dev/full\nhidden file /dev/random\nprivate /dev/shm\n" +
			"hidden file /dev/urandom\nhidden file /dev/zero\nwritable /dev/dri/card0",
	}, {
		name:  "without terminals single nodes do",
		host:  tree("/proc/", "/dev/null"),
		rules: []profile.Rule{rule(profile.Private, "/proc"), allow(rw, "/dev/null")},
		want:  "directory /\ndirectory /dev\nproc /proc\nlink /dev/fd\nwritable /dev/null\nlink /dev/stderr\nlink /dev/stdin\nlink /dev/stdout",
	}} {
		t.Run(c.name, func(t *testing.T) {
			result := compile(t, c.host, mustNew(t, c.rules...))
			same(t, "layout", layout(result), c.want)
			got := slices.DeleteFunc(gaps(result), func(g string) bool {
				return strings.HasPrefix(g, "exec ") || strings.HasPrefix(g, "unix sockets") || strings.HasPrefix(g, "loopback")
			})
			slices.Sort(got)
			same(t, "gaps", strings.Join(got, "\n"), strings.Join(c.gaps, "\n"))
		})
	}
}

func TestSystemOptions(t *testing.T) {
	host := bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: tree(), Euid: 1000, Descriptor: 3}
	for _, c := range []struct {
		mode     profile.NetMode
		terminal bool
		want     string
	}{
		{profile.NetNone, false, "--unshare-net --cap-drop ALL --die-with-parent --clearenv --new-session --chdir /"},
		{profile.NetLoopback, true, "--unshare-net --cap-drop ALL --die-with-parent --clearenv --chdir /"},
		{profile.NetFull, false, "--cap-drop ALL --die-with-parent --clearenv --new-session --chdir /"},
	} {
		p, err := profile.New(profile.Spec{Network: profile.Network{Mode: c.mode}})
		if err != nil {
			t.Fatal(err)
		}
		host.Terminal = c.terminal
		result, err := bwrap.Compile(p, nil, host)
		if err != nil {
			t.Fatal(err)
		}
		want := "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try " + c.want +
			" --chmod 0755 / --remount-ro /"
		same(t, "options", strings.Join(result.Args, " "), want)
	}
	// The strictest network of all layers holds.
	full, none := profile.Everything(), profile.Profile{}
	result, err := bwrap.Compile(full, []profile.Profile{full, none}, host)
	if err != nil || !slices.Contains(result.Args, "--unshare-net") {
		t.Errorf("layers full, full, none: %v, %q", err, result.Args)
	}
}

func TestCompileRefuses(t *testing.T) {
	good := bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: tree(), Descriptor: 3}
	for name, change := range map[string]func(*bwrap.Host){
		"no version":          func(h *bwrap.Host) { h.Version = bwrap.Version{} },
		"old version":         func(h *bwrap.Host) { h.Version = bwrap.Version{Minor: 4, Patch: 1} },
		"no file system":      func(h *bwrap.Host) { h.FS = nil },
		"standard descriptor": func(h *bwrap.Host) { h.Descriptor = 2 },
	} {
		h := good
		change(&h)
		if _, err := bwrap.Compile(profile.Profile{}, nil, h); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	var rules []profile.Rule
	var files []string
	for i := range 3000 {
		rules = append(rules, allow(r, fmt.Sprintf("/f%d", i)))
		files = append(files, fmt.Sprintf("/f%d", i))
	}
	good.FS = tree(files...)
	if _, err := bwrap.Compile(mustNew(t, rules...), nil, good); err == nil {
		t.Error("more options than bwrap takes: accepted")
	}
}

// TestSize: a version without --size says so instead of failing to start.
func TestSize(t *testing.T) {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{rule(profile.Private, "/tmp")},
		Limits: profile.Limits{TmpSize: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		version bwrap.Version
		sized   bool
	}{{bwrap.Version{Minor: 6, Patch: 1}, false}, {bwrap.Version{Minor: 7}, true}} {
		result, err := bwrap.Compile(p, nil, bwrap.Host{Version: c.version, FS: tree(), Euid: 1, Descriptor: 3})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.Index(result.Args, "--size")
		if (i >= 0) != c.sized || c.sized && result.Args[i+1] != "1048576" ||
			slices.Contains(gaps(result), "tmp size ") == c.sized {
			t.Errorf("%v: %q, gaps %q", c.version, result.Args, gaps(result))
		}
	}
}

// TestLayers (R-OS-01, R-OS-02): what holds is the strictest of all layers, whatever the first
// one claims to be the intersection of.
func TestLayers(t *testing.T) {
	host := tree("/p/a/", "/p/b/", "/p/c/", "/p/d/")
	everything := profile.Everything()
	operator := mustNew(t, allow(rwx, "/"), rule(profile.Hide, "/p/a"), rule(profile.Protect, "/p/b"), allow(rx, "/p/d"))
	derived := mustNew(t, allow(rwx, "/p"), rule(profile.Private, "/p/c"))
	result := compile(t, host, everything, operator, derived)
	same(t, "layout", layout(result), "directory /\nwritable /p\nhidden directory /p/a\nread-only /p/b\nprivate "+
		"/p/c\nread-only /p/d")
	if right := compile(t, host, operator.Intersect(derived), operator, derived); layout(right) != layout(result) {
		t.Errorf("with the right intersection:\n%s", layout(right))
	}
}

// TestBudget: names that are protected come to at most 64 mounts, the repository of the project first, and what is left
// out is reported. They take no room from those that are hidden.
func TestBudget(t *testing.T) {
	lines := []string{"/p/.git/hooks/", "/p/deep/er/.git/hooks/"}
	for i := range 600 {
		lines = append(lines, fmt.Sprintf("/p/.env.%03d", i), fmt.Sprintf("/p/a/b/.env.%03d", i),
			fmt.Sprintf("/p/r%03d/.git/hooks/", i))
	}
	p := mustNew(t, allow(rwx, "/p"), named(profile.Protect, "/p", ".git/hooks"), named(profile.Hide, "/p", ".env*"))
	result := compile(t, tree(lines...), p)
	got := layout(result)
	for _, want := range []string{"read-only /p/.git/hooks", "read-only /p/r000/.git/hooks", "hidden file /p/.env.000"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	left := map[string]int{}
	for _, g := range gaps(result) {
		protection, _, _ := strings.Cut(g, " /p/")
		left[protection]++
	}
	hidden := strings.Count(got, "hidden file")
	if hidden < 1000 || result.Mounts-hidden < 60 || result.Mounts > bwrap.MaxProtective+bwrap.MaxHidden {
		t.Errorf("%d protective mounts, %d hidden files", result.Mounts, hidden)
	}
	if protected := strings.Count(got, "read-only"); hidden+left["hide"] != 1200 || protected+left["protect"] != 602 {
		t.Errorf("%d hidden and %d protected, reported: %v", hidden, protected, left)
	}
	if result.Descriptors != hidden {
		t.Errorf("%d descriptors", result.Descriptors)
	}
}

func TestEncode(t *testing.T) {
	if got := string(bwrap.Encode([]string{"--a", "", "b c"})); got != "--a\x00\x00b c\x00" {
		t.Errorf("Encode = %q", got)
	}
}
