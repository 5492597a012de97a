package acceptance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// modules installs what drives the browser, once for all tests.
var modules = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sbx-modules-")
	if err != nil {
		return "", err
	}
	// Later versions of playwright-core want a newer node than Debian 12 has.
	// In the folder, not by --prefix, which would hide the machine's own npmrc.
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "playwright-core@1.58",
		"axe-core@4")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
})

// withGateway starts a daemon whose gateway is on.
func (a *actor) withGateway(config string) {
	a.t.Helper()
	file := filepath.Join(a.dir, "config.toml")
	if err := os.WriteFile(file, []byte(config+"\n[gateway]\nlisten = \"127.0.0.1:0\"\n"), 0o644); err != nil {
		a.t.Fatal(err)
	}
	a.start("--config", file)
}

// browse runs scenarios of testdata/web, each a test of its own;
// ACCEPTANCE_WEB narrows to those whose name holds it.
func (a *actor) browse(script string, env ...string) {
	a.t.Helper()
	dir, err := modules()
	if err != nil {
		a.t.Fatal("npm install: ", err)
	}
	here, err := filepath.Abs("testdata/web")
	if err != nil {
		a.t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		a.t.Fatal(err)
	}
	a.extraEnv = append(a.extraEnv, append(env, "ONLY="+os.Getenv("ACCEPTANCE_WEB"), "BIN="+bin, "MODULES="+dir,
		"PLAYWRIGHT_BROWSERS_PATH=0")...)
	r := a.do(nil, node, filepath.Join(here, script))
	seen := 0
	for _, line := range strings.Split(r.out, "\n") {
		f := strings.SplitN(line, "\t", 3)
		switch f[0] {
		case "ok", "not ok":
			seen++
			a.t.Run(f[1], func(t *testing.T) {
				if f[0] != "ok" {
					t.Error(strings.Join(f[2:], "\t"))
				}
			})
		default:
			if line != "" {
				a.t.Log(line)
			}
		}
	}
	if seen == 0 && os.Getenv("ACCEPTANCE_WEB") == "" || r.code != 0 {
		a.t.Errorf("%s: %v", script, r)
	}
}

// R-UX-03: the web approver, end to end in a real browser. R-AP-15 R-AP-14
// R-AP-13 R-AP-10
func TestWebApprover(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	for _, r := range []struct{ script, config string }{
		{"approve.mjs", "[daemon]\npending = 500\n[approval]\ntimeout = \"30m\"\ntimeout_remote = \"30m\"\n"},
		{"timeout.mjs", "[approval]\ntimeout = \"20s\"\ntimeout_remote = \"20s\"\n"},
	} {
		a.withGateway(r.config)
		a.sbx("trust")
		a.browse(r.script)
	}
}

// R-UX-09, R-UX-08: keys at the web approver, in a real browser. KEYSTROKES is how many random sequences it takes.
func TestWebKeys(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.unseen()
	a.withGateway("[approval]\ntimeout = \"30m\"\ntimeout_remote = \"30m\"\n")
	a.sbx("trust")
	a.browse("keys.mjs", "KEYSTROKES="+os.Getenv("KEYSTROKES"), "CONFIG="+filepath.Join(a.dir, "config.toml"))
}

// R-UX-03, R-LY-05: held change sets in a real browser, and the question at a layer's landing.
func TestWebHeldChanges(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.withGateway("[sandbox]\nbackend = \"" + overlays + "\"\n[approval]\ntimeout = \"30m\"\ntimeout_remote = \"30m\"\n")
	a.sbx("trust")
	a.browse("held.mjs")
	a.noLayers()
	a.withGateway("[sandbox]\nbackend = \"" + overlays + "\"\nlayers = \"auto\"\n[approval]\npolicy = \"contained\"\n")
	a.browse("landing.mjs")
}

// R-UX-03, R-FS-08, R-LY-04: a run is undone in a real browser, with a question where its undoing asks.
func TestWebUndo(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.withGateway("[sandbox]\nbackend = \"" + overlays + "\"\n[approval]\ntimeout = \"30m\"\ntimeout_remote = \"30m\"\n")
	a.sbx("trust")
	a.browse("undo.mjs")
}

// The pictures of docs/img can be made: make pictures keeps them.
func TestWebPictures(t *testing.T) {
	t.Parallel()
	to := os.Getenv("PICTURES")
	if to == "" {
		to = t.TempDir()
	}
	a := newActor(t, "")
	a.withGateway("[sandbox]\nbackend = \"" + overlays + "\"\n[approval]\ntimeout = \"30m\"\ntimeout_remote = \"30m\"\n")
	a.sbx("trust")
	a.browse("pictures.mjs", "PICTURES="+to)
	for _, name := range []string{"question", "delete", "diff", "host", "phone", "held"} {
		if b, err := os.ReadFile(filepath.Join(to, "web-"+name+".png")); err != nil ||
			!bytes.HasPrefix(b, []byte("\x89PNG")) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	a.withGateway("[sandbox]\nbackend = \"" + overlays + "\"\nlayers = \"auto\"\n" +
		"[approval]\ntimeout = \"30m\"\ntimeout_remote = \"30m\"\n")
	a.browse("questions.mjs", "PICTURES="+to, "HOME="+a.dir)
	for _, name := range []string{"1280", "390"} {
		b, err := os.ReadFile(filepath.Join(to, "web-questions-"+name+".jpg"))
		if err != nil || len(b) < 10_000 || len(b) > 600_000 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
