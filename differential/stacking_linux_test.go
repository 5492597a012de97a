package differential

import (
	"net"
	"os"
	"reflect"
	"testing"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

// A bug is a wrong Intersect: the mechanisms enforce its result as the
// intersection of the two profiles.
type bug struct {
	name string
	of   func(operator, derived profile.Profile) profile.Profile
}

var bugs = []bug{
	{"forgets the operator", func(_, derived profile.Profile) profile.Profile { return derived }},
	{"forgets the derived", func(operator, _ profile.Profile) profile.Profile { return operator }},
	{"grants everything", func(_, _ profile.Profile) profile.Profile { return profile.Everything() }},
}

// heldTwice and notHeld name the parts of a profile. A bug in Intersect does not
// open those of heldTwice, because the mechanisms enforce each layer separately. No
// mount and no ruleset can express those of notHeld: only Intersect enforces them.
var (
	heldTwice = map[string]string{
		"Rules":       "mounts are the strictest of all layers; Landlock has a layer for each",
		"Devices":     "they are rules",
		"UnixSockets": "shown only if all layers list them",
		"Network":     "Mode and Listen: the namespace of the strictest, a Landlock layer for each",
	}
	notHeld = map[string]string{
		"Network.Hosts": "names are the proxy's",
		"Env":           "the stage sets it",
		"Limits":        "the stage and the cgroup set them (TmpSize, a mount option, is held)",
		"Syscalls":      "the filter is one program",
		"Processes":     "always the sandbox's own with bwrap",
		"Guards":        "they speak of what a grant may open, not of what is open",
	}
)

// TestStackingNamesEveryPart fails when a profile learns to say something new
// and nobody decided which of the two lists it belongs to.
func TestStackingNamesEveryPart(t *testing.T) {
	for field := range reflect.TypeFor[profile.Spec]().Fields() {
		if heldTwice[field.Name] == "" && notHeld[field.Name] == "" {
			t.Errorf("Spec.%s: is it held by each layer, or only by Intersect?", field.Name)
		}
	}
}

// stacked is the way of a stack: the operator's layer first.
var stacked = both

// TestStacking: acceptance 3 of "one profile, four mechanisms". Whatever the
// intersection is claimed to be, nothing gets through that the operator or
// the derived profile forbids.
func TestStacking(t *testing.T) {
	for _, bug := range bugs {
		t.Run(bug.name, func(t *testing.T) {
			var y tally
			each(t, max(10, profiles(t)/5), func(seed int) {
				w := newWorld(t, seed, stacked.euid, 50)
				defer w.remove()
				derived := newProfile(t, w.rules...)
				operator := ceiling(t, w, seed)
				b := build(t, stacked, bug.of(operator, derived), operator, derived)
				y.compare(t, w, operator.Intersect(derived), b)
			})
			t.Log(&y)
			report(t, "violation", y.violations)
			if 100*y.passed < 5*y.probes {
				t.Errorf("%v: next to nothing was allowed", &y)
			}
		})
	}
}

// ceiling is an operator's profile: everything, but for generated rules of
// another seed.
func ceiling(t testing.TB, w *world, seed int) profile.Profile {
	t.Helper()
	rules := []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/"}}
	for _, r := range profiletest.Tree(w.root).Nested().Example(seed + 1_000_003) {
		if r.Path == w.root && r.Name == "" {
			continue // leaves the root open: more is left to see below
		}
		rules = append(rules, r)
	}
	p, err := profile.New(profile.Spec{Rules: rules, Network: profile.Network{Mode: profile.NetFull, ListenAny: true}})
	must(t, err)
	return p
}

// TestStackingNetwork: the strictest network holds, and its ports.
func TestStackingNetwork(t *testing.T) {
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	must(t, err)
	defer tcp.Close()
	outside := tcp.Addr().(*net.TCPAddr).Port
	of := func(n profile.Network) profile.Profile {
		p, err := profile.New(profile.Spec{Rules: system(), Network: n})
		must(t, err)
		return p
	}
	derived := of(profile.Network{Mode: profile.NetFull, ListenAny: true})
	for _, c := range []struct {
		operator             profile.Network
		connect, port, other bool
	}{
		{profile.Network{Mode: profile.NetNone}, false, false, false},
		{profile.Network{Mode: profile.NetLoopback, Listen: []uint16{40080}}, false, true, false},
		{profile.Network{Mode: profile.NetFull, Listen: []uint16{40080}}, true, true, false},
		{profile.Network{Mode: profile.NetFull, ListenAny: true}, true, true, true},
	} {
		operator := of(c.operator)
		b := build(t, stacked, derived, operator, derived) // the bug: the operator is forgotten
		probes := []probe{{Do: "connect tcp", Port: outside}, {Do: "listen tcp", Port: 40080},
			{Do: "listen tcp", Port: 40081}}
		got := b.run(t, probes)
		for i, want := range []bool{c.connect, c.port, c.other} {
			if got[i].ok() != want && (want || b.unheld(derived, probes[i], nil) == "") {
				t.Errorf("operator %+v: probe %d: %v, want success %v", c.operator, i, got[i].Errno, want)
			}
		}
	}
}

// TestStackingSockets: a socket that one layer does not list is not there.
func TestStackingSockets(t *testing.T) {
	top, err := os.MkdirTemp("", "s")
	must(t, err)
	defer os.RemoveAll(top)
	w := &world{top: top, files: map[string]bool{}}
	w.listen(t, top+"/sock")
	w.chown(t, ordinary)
	defer w.close[0]()
	of := func(rules []profile.Rule, sockets ...string) profile.Profile {
		p, err := profile.New(profile.Spec{Rules: append(system(), rules...), UnixSockets: sockets})
		must(t, err)
		return p
	}
	readable := []profile.Rule{{Kind: profile.Allow, Access: profile.Read, Path: top}}
	for _, c := range []struct {
		rules    []profile.Rule
		operator []string
		want     bool
	}{
		{nil, nil, false},
		{nil, []string{top + "/sock"}, true},
		{readable, nil, false},
		{readable, []string{top + "/sock"}, true},
	} {
		derived, operator := of(c.rules, top+"/sock"), of(c.rules, c.operator...)
		b := build(t, stacked, derived, operator, derived)
		if got := b.run(t, []probe{{Do: "connect", Path: top + "/sock"}}); got[0].ok() != c.want {
			t.Errorf("rules %v, operator lists %v: %v, want success %v", c.rules, c.operator, got[0].Errno, c.want)
		}
	}
}
