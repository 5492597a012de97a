package differential

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sandboxd/profile"
)

// TestCasesLive tries the probes of every case.
func TestCasesLive(t *testing.T) {
	for _, c := range readCases(t) {
		for _, way := range ways(t) {
			if !way.mount {
				continue // what Landlock leaves open alone is measured elsewhere
			}
			t.Run(filepath.Base(c.file)+" "+way.name, func(t *testing.T) {
				top, err := os.MkdirTemp("", "c")
				must(t, err)
				defer os.RemoveAll(top)
				w := &world{top: top, files: map[string]bool{}, links: map[string]string{}}
				defer func() {
					for _, f := range w.close {
						f()
					}
				}()
				c.plant(t, w)
				w.chown(t, way.euid)
				p := c.profile(t, top)
				p, err = profile.New(profile.Spec{
					Rules: append(p.Rules(), system()...), Network: p.Network(), UnixSockets: p.UnixSockets(),
					Limits: p.Limits(), Processes: p.Processes(), Syscalls: p.Syscalls(),
				})
				must(t, err)
				probes, want := c.probes(t, top)
				b := build(t, way, p)
				for i, o := range b.run(t, probes) {
					if o.ok() != want[i] && (want[i] || b.unheld(p, probes[i], nil) == "") {
						t.Errorf("%v: %v, want success %v", probes[i], o.Errno, want[i])
					}
				}
			})
		}
	}
}

// plant creates the part of the case's tree below /w.
func (c ruleCase) plant(t *testing.T, w *world) {
	for line := range strings.Lines(c.section("tree")) {
		at, target, isLink := strings.Cut(strings.TrimSpace(line), " -> ")
		at, isSocket := strings.CutSuffix(at, " =")
		at, isDir := strings.CutSuffix(at, "/")
		if at != "/w" && !strings.HasPrefix(at, "/w/") {
			continue // of the machine
		}
		at = w.top + strings.TrimPrefix(at, "/w")
		must(t, os.MkdirAll(path.Dir(at), 0o755))
		switch {
		case isDir:
			must(t, os.MkdirAll(at, 0o755))
		case isLink:
			w.symlink(t, at, strings.Replace(target, "/w/", w.top+"/", 1))
		case isSocket:
			w.listen(t, at)
		default:
			w.write(t, at)
		}
	}
}

// probes reads the section of that name.
func (c ruleCase) probes(t *testing.T, top string) (probes []probe, want []bool) {
	for line := range strings.Lines(c.section("probes")) {
		words := strings.Fields(strings.ReplaceAll(line, "/w", top))
		last := len(words) - 1
		if last < 2 || words[last] != "allow" && words[last] != "deny" {
			t.Fatalf("%s: probe %q: want DO PATH [PATH] allow|deny", c.file, line)
		}
		p := probe{Do: strings.ReplaceAll(words[0], "-", " ")}
		if port, err := strconv.Atoi(words[1]); err == nil {
			p.Port = port
		} else {
			p.Path = words[1]
		}
		if last == 3 {
			p.To = words[2]
		}
		probes, want = append(probes, p), append(want, words[last] == "allow")
	}
	return probes, want
}
