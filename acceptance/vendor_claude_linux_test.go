package acceptance

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code itself, from npm and without an account, against a stand-in for its
// API: it loads the hook that was installed, and what it runs is in the sandbox.
// The program has 250 MB, so this runs where SBX_VENDORS is set.
func TestClaudeCodeItself(t *testing.T) {
	if os.Getenv("SBX_VENDORS") == "" {
		t.Log("not tried: SBX_VENDORS is not set")
		return
	}
	a := newActor(t, "")
	newStage(a, shortTimes)
	dir, err := os.MkdirTemp(bin, "claude-")
	if err != nil {
		t.Fatal(err)
	}
	npm := a.command(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "@anthropic-ai/claude-code@2.1.330")
	npm.Env = os.Environ() // the registry's settings
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	api := a.command(ctx, node(t), a.readable("testdata/vendor")+"/messages-api.mjs", "cat README; ls -A ~")
	out, err := api.StdoutPipe()
	if err == nil {
		err = api.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer api.Wait()
	defer cancel()
	lines := bufio.NewReader(out)
	port, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(a.dir, "home")
	a.sh("mkdir " + home + " && echo SECRET > " + home + "/secret")
	a.extraEnv = []string{"HOME=" + home, "PATH=" + dir + "/node_modules/.bin:" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=none",
		"ANTHROPIC_BASE_URL=http://127.0.0.1:" + strings.TrimSpace(port), "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	if r := a.sbx("hook", "install", "claude", "--user"); r.code != 0 || !strings.Contains(r.out, "2.1.330") {
		t.Fatal(r)
	}
	if r := a.do(nil, filepath.Join(dir, "node_modules/.bin/claude"), "-p", "look", "--output-format", "json"); r.code != 0 {
		t.Fatal(r)
	}
	result, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(result, `hello`) {
		t.Errorf("the tool answered %s, %v", result, err)
	}
	if strings.Contains(result, "secret") {
		t.Errorf("it ran outside of the sandbox: %s", result)
	}
}
