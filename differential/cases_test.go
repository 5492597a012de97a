package differential

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sandboxd/bwrap"
	"sandboxd/landlock"
	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/seatbelt"
	"sandboxd/seccomp"
)

var update = flag.Bool("update", false, "write what the compilers make into the cases")

// A ruleCase is a file of testdata: one kind of rule, what each mechanism
// makes of it, and what must come of trying. Its sections are
//
//	document  the profile, as an operator writes it
//	tree      the files: "/dir/", "/file", "/link -> target", "/socket ="
//	bwrap     the options, one mount a line
//	landlock  the ruleset behind those mounts, and alone, for ABI 7
//	seccomp   how the policy differs from that of a profile that grants nothing
//	seatbelt  how the text differs from that, and its parameters
//	gaps      of all four
//	probes    "DO PATH [PATH] allow|deny", tried for real with bwrap and
//	          Landlock, as root and as an ordinary user
//
// go test -run TestCases -update writes what the compilers make; read it then.
//
// "/w" is a placeholder for the directory of the tree.
type ruleCase struct {
	file     string
	comment  string
	sections []section
}

type section struct{ name, text string }

func readCases(t *testing.T) []ruleCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("cases: %d, %v", len(files), err)
	}
	var cases []ruleCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := ruleCase{file: file}
		for line := range strings.Lines(string(text)) {
			name, isMarker := strings.CutPrefix(strings.TrimSpace(line), "-- ")
			name, closed := strings.CutSuffix(name, " --")
			switch n := len(c.sections); {
			case isMarker && closed:
				c.sections = append(c.sections, section{name: name})
			case n == 0:
				c.comment += line
			default:
				c.sections[n-1].text += line
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func (c ruleCase) section(name string) string {
	for _, s := range c.sections {
		if s.name == name {
			return s.text
		}
	}
	return ""
}

// profile reads the document with /w replaced by top.
func (c ruleCase) profile(t *testing.T, top string) profile.Profile {
	t.Helper()
	text := strings.ReplaceAll(c.section("document"), "/w/", top+"/")
	doc, err := document.Parse(c.file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := doc.Profile(document.Variables{Project: top + "/p", Home: top + "/home", Tmp: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// snapshot is the tree as the compilers see it.
func (c ruleCase) snapshot() fstest.MapFS {
	host := fstest.MapFS{"usr/bin/true": {Mode: 0o755}, "proc": {Mode: fs.ModeDir | 0o755}}
	for line := range strings.Lines(c.section("tree")) {
		at, target, isLink := strings.Cut(strings.TrimSpace(line), " -> ")
		at, isSocket := strings.CutSuffix(at, " =")
		at, isDir := strings.CutSuffix(at, "/")
		f := &fstest.MapFile{Mode: 0o644}
		switch {
		case isLink:
			f = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}
		case isSocket:
			f.Mode = fs.ModeSocket | 0o755
		case isDir:
			f.Mode = fs.ModeDir | 0o755
		case strings.HasPrefix(at, "/dev/"):
			f.Mode = fs.ModeDevice | fs.ModeCharDevice | 0o666
		}
		host[strings.TrimPrefix(at, "/")] = f
	}
	return host
}

// TestCases compares what the four compilers make of every case with what the
// case says, and wants no kind of rule to be without one.
func TestCases(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			got := c.compile(t)
			var out bytes.Buffer
			out.WriteString(c.comment)
			for i, s := range c.sections {
				if text, made := got[s.name]; made {
					if s.text != text && !*update {
						t.Errorf("%s:\n%s\nwant\n%s", s.name, text, s.text)
					}
					c.sections[i].text = text
				}
				fmt.Fprintf(&out, "-- %s --\n%s", s.name, c.sections[i].text)
			}
			for _, name := range []string{"document", "tree", "bwrap", "landlock", "seccomp", "seatbelt", "gaps", "probes"} {
				if !slices.ContainsFunc(c.sections, func(s section) bool { return s.name == name }) {
					t.Errorf("no section %q", name)
				}
			}
			if *update {
				if err := os.WriteFile(c.file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// compile returns the sections that the compilers make.
func (c ruleCase) compile(t *testing.T) map[string]string {
	t.Helper()
	p, host := c.profile(t, "/w"), c.snapshot()
	mounts, err := bwrap.Compile(p, nil, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: host, Euid: 1000,
		Descriptor: firstNull})
	noError(t, err)
	inside, insideGaps, err := landlock.Compile(p, 7,
		landlock.Host{FS: host, Place: landlock.Inside, Errata: ^lsm.Errata(0)})
	noError(t, err)
	alone, aloneGaps, err := landlock.Compile(p, 7, landlock.Host{FS: host, Euid: 1000, Errata: ^lsm.Errata(0)})
	noError(t, err)
	policy, policyGaps, err := seccomp.For(p, seccomp.AMD64)
	noError(t, err)
	text, err := seatbelt.Compile(p)
	noError(t, err)
	var gaps strings.Builder
	for _, g := range slices.Concat(mounts.Gaps, insideGaps, policyGaps, text.Gaps) {
		fmt.Fprintln(&gaps, g)
	}
	for _, g := range aloneGaps {
		if !slices.Contains(landlock.AloneGaps(7), g) { // those are the same for all
			fmt.Fprintln(&gaps, "alone:", g)
		}
	}
	nothingPolicy, _, err := seccomp.For(profile.Profile{}, seccomp.AMD64)
	noError(t, err)
	nothingText, err := seatbelt.Compile(profile.Profile{})
	noError(t, err)
	return map[string]string{
		"bwrap":    lines(mounts.Args),
		"landlock": inside.String() + "\nalone:\n" + alone.String(),
		"seccomp":  difference(nothingPolicy.String(), policy.String()),
		"seatbelt": difference(nothingText.Text, text.Text) + strings.Join(append(text.Params, ""), "\n"),
		"gaps":     gaps.String(),
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines prints options, those that belong to one mount in one line.
func lines(args []string) string {
	var b strings.Builder
	for _, op := range operations(args) {
		b.WriteString(strings.Join(op, " "))
		if op[0] == "--perms" || op[0] == "--size" {
			b.WriteByte(' ')
		} else {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// operands of bwrap's options.
var operands = map[string]int{
	"--cap-drop": 1, "--chdir": 1, "--perms": 1, "--size": 1, "--dir": 1, "--tmpfs": 1, "--proc": 1, "--dev": 1,
	"--remount-ro": 1, "--bind": 2, "--ro-bind": 2, "--dev-bind": 2, "--ro-bind-data": 2, "--symlink": 2, "--chmod": 2,
}

// operations splits options into one slice each.
func operations(args []string) [][]string {
	var ops [][]string
	for len(args) > 0 {
		n := 1 + operands[args[0]]
		ops = append(ops, args[:n])
		args = args[n:]
	}
	return ops
}

// difference prints the lines that only one of the texts has.
func difference(from, to string) string {
	var b strings.Builder
	only := func(mark string, text, other string) {
		has := map[string]int{}
		for line := range strings.Lines(other) {
			has[line]++
		}
		for line := range strings.Lines(text) {
			if has[line]--; has[line] < 0 && strings.TrimSpace(line) != "" {
				b.WriteString(mark + line)
			}
		}
	}
	only("- ", from, to)
	only("+ ", to, from)
	return b.String()
}

// firstNull is the first descriptor for masks, after the standard streams, the
// job, the outcomes, the test binary and bwrap's options.
const firstNull = 7
