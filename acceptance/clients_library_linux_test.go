package acceptance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// workshop is a daemon with a trusted project, and a person whose socket the
// actor's programs may use.
func workshop(t *testing.T) (a *actor, person *peer) {
	t.Helper()
	name := ""
	if os.Geteuid() == 0 {
		name = ordinaryUser(t)
	}
	a = newActor(t, name)
	a.start()
	person = a.personPeer("workshop", true)
	os.Chmod(person.approver.Socket, 0o666)
	if _, err := person.approver.Trust(t.Context(), ipc.TrustRequest{Dir: a.project}); err != nil {
		t.Fatal(err)
	}
	return a, person
}

// R-IP-06: the Python client installs with pip from its folder and from a tarball, needs
// nothing else, is typed for Python 3.9, and works.
func TestPythonLibrary(t *testing.T) {
	t.Parallel()
	a, person := workshop(t)
	source, target := filepath.Join(a.dir, "source"), filepath.Join(a.dir, "target")
	if err := os.CopyFS(source, os.DirFS("../clients/python")); err != nil {
		t.Fatal(err)
	}
	tarball := filepath.Join(a.dir, "client.tar.gz")
	pip := []string{"/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
		"--no-build-isolation", "--disable-pip-version-check", "--root-user-action=ignore", "--target"}
	for _, c := range [][]string{
		{"tar", "-czf", tarball, "-C", source, "."},
		append(slices.Clone(pip), target+"-tarball", tarball),
		{"env", "PYTHONPATH=" + target + "-tarball", "/usr/bin/python3", "-c", "import sandboxd; sandboxd.AsyncSession"},
		append(pip, target, source),
		{"/usr/bin/mypy", "--config-file", filepath.Join(source, "pyproject.toml"), "--cache-dir",
			filepath.Join(a.dir, "mypy"), filepath.Join(source, "src", "sandboxd"),
			filepath.Join(source, "examples", "agent_loop.py")},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Env = append(os.Environ(), "MYPYPATH="+filepath.Join(source, "src"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", c, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "sandboxd", "py.typed")); err != nil {
		t.Error(err)
	}
	a.extraEnv = []string{"PYTHONPATH=" + target, "PYTHONDONTWRITEBYTECODE=1", "SBX_TEST_PERSON=" + person.approver.Socket}
	if r := a.do(nil, "/usr/bin/python3", filepath.Join(source, "tests", "test_client.py")); r.code != 0 ||
		!strings.Contains(r.err, "OK") {
		t.Errorf("%v", r)
	}
	a.exampleLoop(person, "/usr/bin/python3", filepath.Join(source, "examples", "agent_loop.py"))
}

// R-IP-06: the TypeScript client compiles, needs nothing but Node, and works.
func TestTypeScriptLibrary(t *testing.T) {
	t.Parallel()
	dist := compiledTypeScript(t)
	installsPacked(t, filepath.Dir(dist))
	a, person := workshop(t)
	a.extraEnv = []string{"SBX_TEST_PERSON=" + person.approver.Socket}
	if r := a.do(nil, node(t), "--test", filepath.Join(filepath.Dir(dist), "test")+"/client.test.mjs"); r.code != 0 {
		t.Errorf("%v", r)
	}
	a.exampleLoop(person, node(t), filepath.Join(filepath.Dir(dist), "examples", "agent-loop.mjs"))
}

// installsPacked checks that the client's tarball installs without a registry, and has what its package.json names.
func installsPacked(t *testing.T, client string) {
	t.Helper()
	dir := t.TempDir()
	line := "npm pack --silent --ignore-scripts --pack-destination " + dir + " " + client +
		" && cd " + dir + " && echo '{}' > package.json && " +
		"npm install --silent --offline --no-audit --no-fund ./*.tgz && " +
		`node --input-type=module -e 'import { Agent } from "sandboxd-client"; ` +
		`import { aiTools } from "sandboxd-client/frameworks"; aiTools(new Agent())' && ` +
		"cd node_modules/sandboxd-client && ls dist/index.d.ts dist/frameworks.d.ts LICENSE README.md src/index.ts"
	if out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput(); err != nil {
		t.Errorf("the packed client: %v\n%s", err, out)
	}
}

// exampleLoop runs an example: its ls runs unasked, a person refuses its rm, and
// allows its email.
func (a *actor) exampleLoop(person *peer, program string, args ...string) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	news, err := person.approver.News(ctx, ipc.NewsRequest{})
	if err != nil {
		a.t.Fatal(err)
	}
	asked := make(chan string, 16)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer news.Close()
		for {
			n, err := news.Next(ctx)
			if err != nil {
				return
			}
			if q := n.Approval; n.Type == ipc.NewsRequested && q != nil {
				asked <- q.Tool + " " + q.Claim
				person.approver.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: q.Tool == "send_email",
					Mode: map[bool]string{false: "soft"}[q.Tool == "send_email"]})
			}
		}
	}()
	r := a.do(nil, program, args...)
	cancel()
	<-answered
	close(asked)
	var claims []string
	for q := range asked {
		claims = append(claims, q)
	}
	for _, want := range []string{"bash: exit 0\nREADME\n", "bash: refused (", "send_email: sent to anna@example.org"} {
		if !strings.Contains(r.out, want) {
			a.t.Errorf("%s printed no %q: %v", args[0], want, r)
		}
	}
	if !strings.Contains(strings.Join(claims, ","), "send_email Send email to anna@example.org: done") {
		a.t.Errorf("%s asked %q", args[0], claims)
	}
}
