package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outside copies a program of testdata into a module outside of this tree that replaces
// sandboxd by it, and lets go test judge it, offline. It returns the outcome of each
// test, by name, and all output.
func outside(t *testing.T, program string) (outcomes map[string]string, output string) {
	t.Helper()
	dir := t.TempDir()
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(program)); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var version string
	for line := range strings.Lines(string(mod)) {
		if strings.HasPrefix(line, "go ") {
			version = line
		}
	}
	const module = "module example.com/library\n\n%s\nrequire sandboxd v0.0.0\n\nreplace sandboxd => %s\n"
	text := fmt.Sprintf(module, version, repo)
	for name, data := range map[string][]byte{"go.mod": []byte(text), "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "-count=1", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	raw, err := cmd.CombinedOutput() // its status is that of the tests
	outcomes = map[string]string{}
	for line := range bytes.Lines(raw) {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(line, &e) != nil {
			output += string(line)
			continue
		}
		if output += e.Output; e.Test != "" && (e.Action == "pass" || e.Action == "fail") {
			outcomes[e.Test] = e.Action
		}
	}
	if len(outcomes) == 0 {
		t.Fatalf("go test: %v\n%s", err, output)
	}
	return outcomes, output
}

// The three-layer architecture as a library: a module outside of this tree embeds packages
// approval and profile, as they are, and nothing else. R-AP-01 R-AP-02 R-AP-03 R-AP-06
//
//   - Row 000-01 yes (TestContext): ApprovalContext: tool_name, args, metadata
//   - Row 000-02 yes (TestRequest): ApprovalRequest: tool, description, payload, presentation, group_id
//   - Row 000-03 yes (TestPresentation): ApprovalPresentation of five kinds: text, diff, file_content, command,
//     structured
//   - Row 000-05 yes (TestOptional): a tool without check_approval just runs
//   - Row 000-14 yes (TestContext): check_approval is synchronous and pure: a context in, a request out
//   - Row 000-15 yes (TestRequest): simple_approval_request describes as tool(k=v)
//   - Row 000-18 yes (TestDecorator): @requires_approval(description=callable)
//   - Row 000-19 different (TestDecorator): @requires_approval(payload=callable) ignores exclude_keys | no
//     payload contains an excluded argument; a digest of it distinguishes the calls (R-AP-03)
//   - Row 000-22 yes (TestSession): a session approval is keyed by the tool's name, too
//   - Row 000-23 yes (TestSession): a session approval ends with its session, and is not shared
//   - Row 000-55 yes (TestProfile): an explicit profile is intersected with the derived one, never grants more
//   - Row 000-61 yes (TestModes): a standalone package, without a framework (open question 2)
//   - Row 000-63 yes (TestContext): run_id, session_id and the caller reach the tool
//   - Row 001-67 yes (TestCrash): a prompt that crashes is a denial
//   - Row 001-68 yes (TestPromptError): a prompt that fails is a denial
func TestLibrary(t *testing.T) {
	t.Parallel()
	outcomes, output := outside(t, "testdata/library")
	for _, name := range []string{"TestContext", "TestOptional", "TestModes", "TestRequest", "TestDecorator",
		"TestPresentation", "TestLazy", "TestSession", "TestGroup", "TestDeny", "TestCrash", "TestPromptError",
		"TestProfile"} {
		t.Run(name, func(t *testing.T) {
			if outcomes[name] != "pass" {
				t.Errorf("outcome %q:\n%s", outcomes[name], output)
			}
		})
	}
}
