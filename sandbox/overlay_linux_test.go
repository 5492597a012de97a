package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// overlaid is a host with the native back end, a project that a profile lets a command write but for a
// read-only directory and a hidden file, and an overlay of that project.
func overlaid(t *testing.T) (*Host, Request, Overlay) {
	t.Helper()
	h, err := Open(context.Background(), Options{Stage: testStage, Warm: 2, Backend: BackendNative})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	dir, state := workDir(t), workDir(t)
	o := Overlay{Path: dir, Upper: filepath.Join(state, "upper"), Work: filepath.Join(state, "work")}
	for path, text := range map[string]string{"old": "old", "gone": "gone", "held/file": "held", "secret": "secret"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{o.Upper, o.Work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(o.Work, "work"), 0o700) }) // the kernel's, of mode 0
	spec := systemSpec(dir, profile.Limits{})
	spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: profile.Read, Path: dir + "/held"},
		profile.Rule{Kind: profile.Hide, Path: dir + "/secret"})
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return h, Request{Profile: p, Overlays: []Overlay{o}, Command: Command{Argv: []string{"/bin/sh", "-c", "true"},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}}, o
}

// tree renders the files below dir with their content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := d.Type().String() + " " + rel
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(b)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// R-OS-03: a command below an overlay changes its layer and not the host's directory; what the
// profile holds or hides in the directory is held and hidden there, and the layer has no other path.
func TestOverlay(t *testing.T) {
	h, r, o := overlaid(t)
	before := tree(t, o.Path)
	// A layer that has an entry in the held directory shows whose tree the mount over it is.
	if err := os.Mkdir(filepath.Join(o.Upper, "held"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Upper, "held", "layered"), []byte("layered"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Command.Argv[2] = `echo new > old; rm gone; mkdir d; echo born > d/file; ln -s /etc/passwd link; cat old d/file
[ -e gone ] && echo "gone is there"
cat held/file held/layered; echo
echo x 2>/dev/null > held/file && echo "wrote a held file"; rm -f held/file 2>/dev/null && echo "removed a held file"
mv held moved 2>/dev/null && echo "moved a held directory"; cat secret 2>/dev/null && echo "read a secret"
rm -f secret 2>/dev/null && echo "removed a secret"
ls ` + o.Upper + ` ` + o.Work + ` 2>/dev/null && echo "reached the layer"
mknod device c 1 3 2>/dev/null && head -c 1 device >/dev/null && echo "opened a device"
grep " ` + o.Path + ` " /proc/self/mountinfo | cut -d" " -f6`
	plan, err := h.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	if held, mounted := plan.Mounts()[o.Path]; !held || !mounted {
		t.Error("the plan says that the command changes the host's directory")
	}
	if _, ok := h.pool.view(plan); ok {
		t.Error("a sandbox that waits can serve an overlay whose layer has no spare ones")
	}
	got := carryOn(t, h, plan)
	options := strings.Split(strings.TrimSpace(got.out), "\n")
	last := "," + options[len(options)-1] + ","
	if want := "new\nborn\nheldlayered\n"; !strings.HasPrefix(got.out, want) || len(options) != 4 ||
		!strings.Contains(last, ",nosuid,") || !strings.Contains(last, ",nodev,") || strings.Contains(last, ",ro,") {
		t.Errorf("inside: %q, want %q and the mount's options; %q, %+v", got.out, want, got.err, got.exit)
	}
	if after := tree(t, o.Path); after != before {
		t.Errorf("the host's directory was\n%s\nand is\n%s", before, after)
	}
	for _, name := range []string{"old", "gone", "d/file", "link", "held/layered"} {
		if _, err := os.Lstat(filepath.Join(o.Upper, name)); err != nil {
			t.Errorf("the layer: %v", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(o.Upper, "secret")); err == nil {
		t.Error("the layer has a secret")
	}
}

// An overlay that would not hold is refused before a question is asked, or by the first process.
func TestOverlayRefused(t *testing.T) {
	h, r, o := overlaid(t)
	for name, bad := range map[string]Overlay{
		"an upper directory in the project":     {Path: o.Path, Upper: o.Path + "/held", Work: o.Work},
		"the system's":                          {Path: o.Path, Upper: "/usr/share", Work: o.Work},
		"above what is shown":                   {Path: o.Path, Upper: o.Upper, Work: filepath.Dir(o.Path)},
		"one in the other":                      {Path: o.Path, Upper: o.Upper, Work: o.Upper + "/work"},
		"the same":                              {Path: o.Path, Upper: o.Upper, Work: o.Upper},
		"a relative path":                       {Path: o.Path, Upper: "upper", Work: o.Work},
		"a path that is not clean":              {Path: o.Path, Upper: o.Upper + "/../upper", Work: o.Work},
		"no layer to read":                      {Path: o.Path},
		"too many to read":                      {Path: o.Path + "/held", Above: slices.Repeat([]string{"/u"}, MaxAbove+1)},
		"a directory that is only read":         {Path: o.Path + "/held", Upper: o.Upper, Work: o.Work},
		"a directory that the rules are not of": {Path: o.Path + "/other", Upper: o.Upper, Work: o.Work},
	} {
		r.Overlays = []Overlay{bad}
		if _, err := h.Plan(r); err == nil {
			t.Errorf("%s: planned", name)
		}
	}
	r.Overlays = []Overlay{o}
	other, err := Open(context.Background(), Options{Stage: testStage, Backend: BackendBwrap})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.Version = bwrap.Version{Minor: 10}
	if _, err := other.Plan(r); !errors.Is(err, ErrNoOverlay) {
		t.Errorf("bwrap: %v, want %v", err, ErrNoOverlay)
	}
	other.Version = bwrap.OverlaySince
	if _, err := other.Plan(r); err == nil || !strings.Contains(err.Error(), "held") {
		t.Errorf("bwrap with a read-only directory in the project: %v", err)
	}
	// Where the upper directory became a link after the plan nothing starts.
	plan, err := h.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(o.Upper, o.Upper+"-moved"), os.Symlink(o.Upper+"-moved", o.Upper)); err != nil {
		t.Fatal(err)
	}
	if proc, err := h.Start(context.Background(), plan, Stdio{nil, os.Stdout, os.Stderr}, nil); err == nil {
		proc.Wait()
		t.Error("a layer behind a link was used")
	}
}

// spareAt is a spare layer.
type spareAt string

func (s spareAt) Make() (string, error) { return string(s), nil }

func (spareAt) Drop(string) {}

// R-LY-01: from 0.11 on bwrap makes the overlay of a plan, which no sandbox waits for, and its refusal is one of the
// overlay.
func TestOverlayOfBwrap(t *testing.T) {
	h, err := Open(context.Background(), Options{Stage: testStage, Warm: 2, Backend: BackendBwrap})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, r, o := overlaid(t)
	if r.Profile, err = profile.New(systemSpec(o.Path, profile.Limits{})); err != nil {
		t.Fatal(err)
	}
	r.Overlays[0].Spares, r.Overlays[0].Begin = spareAt(""), func(string) error { return nil }
	h.Version = bwrap.OverlaySince
	plan, err := h.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{"--overlay-src", o.Path, "--overlay", o.Upper, o.Work, o.Path}, " ")
	if got := strings.Join(plan.args, " "); !strings.Contains(got, want) || strings.Contains(got, "--bind "+o.Path) {
		t.Errorf("options: %s, want %s", got, want)
	}
	if _, ok := h.pool.view(plan); ok || !plan.Mounts()[o.Path] {
		t.Errorf("a sandbox waits for it: %v; the plan's mounts: %v", ok, plan.Mounts())
	}
	dir := t.TempDir()
	plan.overlays[0].Spares = spareAt(dir)
	waits, _, err := plan.spared()
	want = strings.Join([]string{"--overlay", dir + "/upper", dir + "/work", o.Path}, " ")
	if got := strings.Join(waits.args, " "); err != nil || !strings.Contains(got, want) {
		t.Errorf("on a spare layer: %v, %s, want %s", err, got, want)
	}
	const mount = "Can't make overlay mount on /newroot"
	for said, cause := range map[string]string{
		mount + o.Path + " with options u: No such device":           "no such device",
		"The --overlay option is not permitted in setuid mode":       "the --overlay option is not permitted in setuid mode",
		"Can't mount proc on /newroot/proc: Operation not permitted": "",
		mount + "/p with options u: No such device":                  "",
	} {
		var refused *OverlayError
		err := plan.notMounted(&LaunchError{BackendBwrap, errors.New("no process was reported: EOF: bwrap: " + said)})
		if errors.As(err, &refused) != (cause != "") || refused != nil && refused.Cause != cause {
			t.Errorf("%s: %v, want the cause %q", said, err, cause)
		}
	}
}

// R-LY-01: where bwrap makes no sandbox that can wait, as it can't mount an overlay, the error has its own words.
func TestWhyBwrapDoesNotWait(t *testing.T) {
	h, err := Open(context.Background(), Options{Stage: testStage, Backend: BackendBwrap})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l, err := h.lay(&Plan{Command: Command{Argv: []string{"probe"}}, holds: map[string]bool{}, args: []string{
		"--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--bind", "/absent", "/absent"}})
	if err == nil {
		l.kill(l.proc)
	}
	if err == nil || !strings.Contains(err.Error(), "/absent: No such file") {
		t.Errorf("got %v", err)
	}
}

// Rule 6: Landlock before ABI 2 permits no rename between directories, of which a landing consists.
func TestOverlaysNeedRenames(t *testing.T) {
	h := &Host{native: true, landlock: 1}
	h.ProbeOverlays(func() error { t.Error("an overlay was tried"); return nil })
	if why := h.Overlays(); !strings.Contains(why, "ABI 2") || !strings.Contains(why, "Linux 5.19") {
		t.Errorf("got %q", why)
	}
}
