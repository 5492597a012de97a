package seatbelt

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/profiletest"
)

// asked is what the sandbox is asked about when a program does op.
var asked = map[profile.Op][]string{
	profile.OpRead:     {"file-read-data"},
	profile.OpList:     {"file-read-data"},
	profile.OpStat:     {"file-read-metadata"},
	profile.OpWrite:    {"file-write-data"},
	profile.OpCreate:   {"file-write-create"},
	profile.OpRemove:   {"file-write-unlink"},
	profile.OpMetadata: {"file-write-mode", "file-write-owner", "file-write-times", "file-write-xattr"},
	profile.OpExec:     {"process-exec", "file-map-executable"},
	profile.OpConnect:  {"network-outbound"},
	profile.OpLink:     {"file-link"},
}

// world is a universe as files that all exist, and the profile on it.
type world struct {
	profiletest.Universe
	paths   []string
	profile profile.Profile
	text    *sbpl
	result  Result
	holds   map[string]bool // something below may not be written
}

func newWorld(t failer, u profiletest.Universe, p profile.Profile) *world {
	t.Helper()
	w := &world{Universe: u, paths: u.Paths(), profile: p, holds: map[string]bool{}}
	h := Host{Found: []string{}}
	for _, at := range w.paths {
		if !w.writable(at) {
			for _, dir := range above(at) {
				w.holds[dir] = true
			}
		}
		if _, _, rule := p.Effective(at); rule.Name != "" {
			h.Found = append(h.Found, at)
		}
	}
	var err error
	if w.result, err = h.Compile(p); err != nil {
		t.Fatal(err)
	}
	if w.text, err = understand(w.result); err != nil {
		t.Fatalf("%v\n%s", err, w.result.Text)
	}
	return w
}

// rules is the part of the text that depends on the profile, with its parameters.
func (w *world) rules() string {
	_, text, _ := strings.Cut(w.result.Text, "; paths,")
	text, _, _ = strings.Cut(text, "; the same for")
	return text + strings.Join(w.result.Params, "\n")
}

// may asks the text.
func (w *world) may(t failer, op profile.Op, p string) bool {
	t.Helper()
	answer := w.text.allows(t, query{op: asked[op][0], path: p})
	for _, name := range asked[op][1:] {
		if other := w.text.allows(t, query{op: name, path: p}); other != answer {
			t.Fatalf("%s %s: %s says %v, %s %v", op, p, asked[op][0], answer, name, other)
		}
	}
	return answer
}

// writable reports whether the oracle lets the host's file be written.
func (w *world) writable(p string) bool {
	return w.profile.Allows(profile.OpWrite, p).Allowed && !w.isPrivate(p)
}

// writableBelow reports whether the oracle lets everything below p be written, as deep as rules can speak of.
func (w *world) writableBelow(p string) bool {
	if w.holds[p] {
		return false
	}
	for _, a := range slices.Concat(w.Elements, w.Extra) {
		for _, b := range slices.Concat(w.Elements, w.Extra) {
			if below := path.Join(p, a); !w.writable(below) || !w.writable(path.Join(below, b)) {
				return false
			}
		}
	}
	return true
}

func (w *world) isPrivate(p string) bool {
	kind, _, _ := w.profile.Effective(p)
	return kind == profile.Private
}

// more reports whether what the text lets through is more than the oracle allows. What is private must not be reached,
// though a directory on the way to something granted shows itself.
func more(op profile.Op, v profile.Verdict) bool {
	return !v.Allowed || v.Private && op != profile.OpStat
}

// less reports whether the text may grant less here than the oracle: these are the gaps of the documentation.
func (w *world) less(op profile.Op, p string, v profile.Verdict) bool {
	kind, _, _ := w.profile.Effective(p)
	switch {
	case v.Private || kind == profile.Private || w.isPrivate(abspath.Parent(p)):
		return true // there are no private directories
	case op == profile.OpStat:
		return kind == profile.Hide
	case op == profile.OpRemove:
		return !w.writableBelow(p)
	}
	return false
}

// R-OS-01, R-OS-02, R-OS-04. The text allows nothing that the oracle forbids, and, outside the published gaps, all that
// it allows; a rename takes nothing protected along.
//
//   - Row card-05 partly: Seatbelt on macOS | the text is compiled and evaluated on Linux; no Mac
//     executes the tests
func TestTextMeansTheProfile(t *testing.T) {
	small := profiletest.Small()
	allowed, probes := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := small.Profile().Draw(t, "profile")
		w := newWorld(t, small, p)
		for _, at := range w.paths {
			for _, op := range profile.Ops() {
				v, got := p.Allows(op, at), w.may(t, op, at)
				if probes++; got {
					allowed++
				}
				runtime := at == "/" && (op == profile.OpRead || op == profile.OpList || op == profile.OpStat) ||
					op == profile.OpConnect && slices.Contains(p.UnixSockets(), at) // a listed socket is the host's
				if got && more(op, v) && !runtime {
					t.Fatalf("%s %s is let through: %+v\n%s\n%s", op, at, v, p, w.rules())
				}
				if !got && v.Allowed && !w.less(op, at, v) {
					t.Fatalf("%s %s is refused: %+v\n%s\n%s", op, at, v, p, w.rules())
				}
			}
		}
		for range 40 {
			from := rapid.SampledFrom(w.paths[1:]).Draw(t, "from")
			to := rapid.SampledFrom(w.paths[1:]).Draw(t, "to")
			w.rename(t, from, to)
		}
	})
	t.Logf("%d of %d probes allowed", allowed, probes)
}

// rename checks that what exists, and so has been found, does not leave its place.
func (w *world) rename(t *rapid.T, from, to string) {
	if abspath.Contains(from, to) || abspath.Contains(to, from) {
		return
	}
	text := w.may(t, profile.OpRemove, from) && w.may(t, profile.OpCreate, to) && w.may(t, profile.OpRemove, to)
	var below []string
	for _, p := range w.paths {
		// deeper nothing has been found
		if p != from && abspath.Contains(from, p) && slices.Contains(w.paths, to+p[len(from):]) {
			below = append(below, p[len(from)+1:])
		}
	}
	if v := w.profile.AllowsRename(from, to, below); text && !v.Allowed {
		t.Fatalf("rename %s to %s is let through: %+v\n%s\n%s", from, to, v, w.profile, w.rules())
	}
}

// A real tree, with names as they are in projects, deeper.
func TestTextMeansTheProfileOfATree(t *testing.T) {
	u := profiletest.Tree("/Users/someone/project")
	rapid.Check(t, func(t *rapid.T) {
		p, err := profile.New(profile.Spec{Rules: u.Nested().Draw(t, "rules")})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, u, p)
		for range 300 {
			at, op := rapid.SampledFrom(w.paths).Draw(t, "path"), rapid.SampledFrom(profile.Ops()).Draw(t, "op")
			v, got := p.Allows(op, at), w.may(t, op, at)
			if got && more(op, v) || !got && v.Allowed && !w.less(op, at, v) {
				t.Fatalf("%s %s: the text says %v, the oracle %+v\n%s\n%s", op, at, got, v, p, w.rules())
			}
		}
	})
}

// Without anything in the way, reading, writing and executing work, and so does the second path of the data volume
// stay shut.
func TestHiddenByEveryPath(t *testing.T) {
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/"},
		{Kind: profile.Hide, Path: "/Users/a/.ssh"},
		{Kind: profile.Protect, Path: "/tmp/keep"},
		{Kind: profile.Protect, Path: "/Users/a/src", Name: ".git/hooks"},
		{Kind: profile.Hide, Path: "/Users/a/src", Name: "*.key"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, profiletest.Universe{Root: "/Users"}, p)
	for _, dir := range []string{"", "/System/Volumes/Data"} {
		for q, want := range map[query]bool{
			{op: "file-read-data", path: "/Users/a/.ssh/id"}:                     false,
			{op: "file-read-data", path: "/Users/a/.SSH/id"}:                     false,
			{op: "file-read-data", path: "/users/A/.\u017f\u017fh"}:              false, // the long s
			{op: "file-read-data", path: "/Users/a/.ssh2"}:                       true,
			{op: "file-write-data", path: "/private/tmp/keep/x"}:                 false,
			{op: "file-write-data", path: "/private/tmp/kept"}:                   true,
			{op: "file-write-create", path: "/Users/a/src/x/.git/hooks/p"}:       false,
			{op: "file-write-create", path: "/Users/a/src/x/.GIT/HOO\u212aS/p"}:  false, // the Kelvin sign
			{op: "file-write-create", path: "/Users/a/src/x\ny/.git/hooks\n/p"}:  true,  // another name
			{op: "file-write-create", path: "/Users/a/src/x\ny/.git/hooks/p\nq"}: false,
			{op: "file-write-unlink", path: "/Users/a/src/x/.git"}:               false,
			{op: "file-write-unlink", path: "/Users/a/src/x/.gitignore"}:         true,
			{op: "file-read-data", path: "/Users/a/src/\u00e9.KEY"}:              false,
		} {
			q.path = dir + q.path
			if dir != "" && want {
				continue // the second path need not work
			}
			if got := w.text.allows(t, q); got != want {
				t.Errorf("%s %q: %v, want %v", q.op, q.path, got, want)
			}
		}
	}
}

// Every denial is needed: without any one of them the text lets through what the oracle forbids, and the comparison
// above would notice.
func TestEveryDenialCounts(t *testing.T) {
	u := profiletest.Small()
	u.Depth = 5
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: everything, Path: "/a"},
		{Kind: profile.Hide, Path: "/a/b"},
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/a/b/a"},
		{Kind: profile.Protect, Path: "/a", Name: ".git/hooks"},
		{Kind: profile.Hide, Path: "/a", Name: "z"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, u, p)
	for i, r := range w.text.rules {
		if r.allow || slices.Contains(r.ops, "default") || len(r.filters) == 0 || slices.Contains(r.ops, "file-write-mode") {
			continue
		}
		without := &sbpl{rules: slices.Delete(slices.Clone(w.text.rules), i, i+1)}
		broken := false
		for _, at := range w.paths {
			for _, op := range profile.Ops() {
				q := query{op: asked[op][0], path: at}
				broken = broken || without.last(q) && !w.text.last(q)
			}
		}
		if !broken {
			t.Errorf("nothing changes without (deny %s …)", strings.Join(r.ops, " "))
		}
	}
}

// What the text says of sockets is what the profile's network says.
//
//   - Row card-05 also
func TestNetwork(t *testing.T) {
	out, in := "network-outbound", "network-bind"
	for _, c := range []struct {
		network profile.Network
		proxy   uint16
		want    map[query]bool
		gap     bool
	}{
		{profile.Network{}, 0, map[query]bool{{op: out, host: "example.org:443"}: false,
			{op: out, host: "localhost:80"}: false, {op: in, host: "*:80"}: false}, false},
		{profile.Network{Mode: profile.NetLoopback, ListenAny: true}, 0,
			map[query]bool{{op: out, host: "localhost:80"}: false, {op: in, host: "localhost:80"}: false}, true},
		{profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{{Host: "example.org"}}}, 0,
			map[query]bool{{op: out, host: "example.org:443"}: false}, true},
		{profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{{Host: "example.org"}}}, 3128,
			map[query]bool{{op: out, host: "example.org:443"}: false, {op: out, host: "localhost:3128"}: true,
				{op: out, host: "localhost:80"}: false}, true},
		{profile.Network{Mode: profile.NetFull, Listen: []uint16{8080}}, 0,
			map[query]bool{{op: out, host: "example.org:443"}: true, {op: in, host: "localhost:8080"}: true,
				{op: in, host: "localhost:80"}: false}, false},
		{profile.Network{Mode: profile.NetFull, Listen: []uint16{0}}, 0, map[query]bool{{op: in, host: "localhost:0"}: false},
			true},
		{profile.Network{Mode: profile.NetFull}, 0, map[query]bool{{op: out, path: "/private/var/run/docker.sock"}: false},
			false},
	} {
		p, err := profile.New(profile.Spec{Network: c.network})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Host{Proxy: c.proxy}.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := understand(r)
		if err != nil {
			t.Fatal(err)
		}
		for q, want := range c.want {
			if got := text.allows(t, q); got != want {
				t.Errorf("%+v: %s %s%s: %v", c.network, q.op, q.host, q.path, got)
			}
		}
		if got := slices.ContainsFunc(r.Gaps, func(g profile.Gap) bool { return g.Protection == "network" }); got != c.gap {
			t.Errorf("%+v: gaps %v", c.network, r.Gaps)
		}
	}
}

// The runtime's files are readable, and a rule of the profile about them is stronger.
func TestRuntime(t *testing.T) {
	plain := newWorld(t, profiletest.Universe{Root: "/x"}, profile.Profile{})
	hidden, err := profile.New(profile.Spec{Rules: []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read, Path: "/"}, {Kind: profile.Hide, Path: "/usr"},
		{Kind: profile.Hide, Path: "/etc"},
		{Kind: profile.Hide, Path: "/System"}, {Kind: profile.Hide, Path: "/var"}, {Kind: profile.Hide, Path: "/dev"}}})
	if err != nil {
		t.Fatal(err)
	}
	shut := newWorld(t, profiletest.Universe{Root: "/x"}, hidden)
	for _, rule := range runtime() {
		p := rule.Path
		for _, w := range []*world{plain, shut} {
			device := rule.Access.Has(profile.Write)
			if got := w.text.allows(t, query{op: "file-read-data", path: p}); got != (w == plain) {
				t.Errorf("read %s: %v", p, got)
			}
			if got := w.text.allows(t, query{op: "file-write-data", path: p}); got != (w == plain && device) {
				t.Errorf("write %s: %v", p, got)
			}
			if got := w.text.allows(t, query{op: "file-map-executable", path: p}); got != (w == plain &&
				rule.Access.Has(profile.Exec)) {
				t.Errorf("map %s: %v", p, got)
			}
			for _, op := range []string{"file-write-unlink", "file-write-create", "file-write-mode", "process-exec"} {
				if w.text.allows(t, query{op: op, path: p}) {
					t.Errorf("%s %s", op, p)
				}
			}
		}
	}
}

func TestFoundIsChecked(t *testing.T) {
	for _, p := range []string{"", "a", "/a/../b", "/a/"} {
		if _, err := (Host{Found: []string{p}}).Compile(profile.Profile{}); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("%q", p)) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

// runtime lists the grants of every text without a rule of the profile.
func runtime() []profile.Rule {
	var rules []profile.Rule
	for _, group := range runtimeFiles {
		for _, p := range group.paths {
			rules = append(rules, profile.Rule{Kind: profile.Allow, Access: group.access, Path: p})
		}
	}
	return rules
}
