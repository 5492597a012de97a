package seatbelt

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A session as people have it on a Mac, to read: the text, its parameters and its gaps.
func TestGolden(t *testing.T) {
	const home, project = "/Users/ann", "/Users/ann/src/shop"
	rules := []profile.Rule{
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/usr"},
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/bin"},
		{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: "/opt/homebrew"},
		{Kind: profile.Allow, Access: profile.Read, Path: "/etc"},
		{Kind: profile.Hide, Path: "/etc/sudoers"},
		{Kind: profile.Private, Path: "/tmp"},
		{Kind: profile.Private, Path: home},
		{Kind: profile.Allow, Access: everything, Path: project},
		{Kind: profile.Protect, Path: project, Name: ".git/hooks"},
		{Kind: profile.Protect, Path: project, Name: ".git/config"},
		{Kind: profile.Protect, Path: project, Name: ".cursor*"},
		{Kind: profile.Hide, Path: project, Name: "*.key"},
		{Kind: profile.Protect, Path: project + "/.envrc"},
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/dev/null"},
		{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/dev/tty"},
	}
	for name, spec := range map[string]profile.Spec{
		"session": {Rules: rules, Network: profile.Network{Mode: profile.NetLoopback}},
		"open": {Rules: rules[:3], Network: profile.Network{Mode: profile.NetFull, Listen: []uint16{8080}},
			UnixSockets: []string{"/var/run/docker.sock"}, Syscalls: []profile.SyscallGroup{profile.SyscallsDebug},
			Processes: profile.ProcessesHost},
	} {
		p, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := understand(r); err != nil {
			t.Error(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n; parameters\n", r.Text)
		for _, p := range r.Params {
			fmt.Fprintf(&b, "; %s\n", p)
		}
		fmt.Fprintln(&b, "\n; gaps")
		for _, g := range r.Gaps {
			fmt.Fprintf(&b, "; %s\n", g)
		}
		golden(t, name+".sb", b.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s: the text changed; look at it, then run go test -update\n%s", name, got)
	}
}
