package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// frameworks are packages that build agents, each with a program of testdata/frameworks that has the client's tools or
// backend for it, and a scripted model.
var frameworks = []struct {
	name, title string
	pkgs, model []string
	args        []string
	files       func(project, home string) []frameworkCall
}{
	{
		name: "claude", title: "Claude Code", model: []string{"messages-api.mjs"}, args: []string{"2.1.332"},
		pkgs: []string{"@anthropic-ai/claude-agent-sdk@0.3.332"},
		files: func(project, home string) []frameworkCall {
			return []frameworkCall{
				{[]any{"Write", map[string]string{"file_path": project + "/new", "content": "one\n"}}, "created"},
				{[]any{"Write", map[string]string{"file_path": home + "/planted", "content": "x"}}, "none of the sandboxes"},
			}
		},
	},
	{
		name: "openai", title: "framework openai", model: []string{"responses-api.mjs"},
		pkgs: []string{"@openai/agents@0.20.0"},
		files: func(_, home string) []frameworkCall {
			patch := func(kind, path, diff string) any {
				return map[string]any{"operation": map[string]string{"type": kind, "path": path, "diff": diff}}
			}
			return []frameworkCall{
				{patch("create_file", "new", "+one\n"), `"completed"`},
				{patch("update_file", "new", "@@\n-one\n+two\n"), `"completed"`},
				{patch("create_file", home+"/planted", "+x\n"), "none of the sandboxes"},
				{patch("delete_file", "old", ""), `"completed"`},
			}
		},
	},
	{
		name: "deepagents", title: "framework deepagents", model: []string{"chat-api.mjs", "execute"},
		pkgs: []string{"deepagents@1.14.1", "@langchain/openai@1.6.0"},
		files: func(project, home string) []frameworkCall {
			return []frameworkCall{
				{[]any{"write_file", map[string]string{"file_path": project + "/new", "content": "one\n"}}, project + "/new"},
				{[]any{"edit_file", map[string]string{"file_path": project + "/new", "old_string": "one",
					"new_string": "two"}}, project + "/new"},
				{[]any{"read_file", map[string]string{"file_path": project + "/new"}}, "two"},
				{[]any{"ls", map[string]string{"path": project}}, project + "/README"},
				{[]any{"glob", map[string]string{"pattern": "**/READ*", "path": project}}, "README"},
				{[]any{"grep", map[string]string{"pattern": "hel", "path": project}}, "README"},
				{[]any{"write_file", map[string]string{"file_path": home + "/planted", "content": "x"}}, "none of the sandboxes"},
				{[]any{"read_file", map[string]string{"file_path": home + "/secret"}}, "none of the sandboxes"},
			}
		},
	},
	{
		name: "ai", title: "framework ai", model: []string{"chat-api.mjs", "bash"},
		pkgs: []string{"ai@7.0.173", "@ai-sdk/openai-compatible@3.0.92"},
		files: func(project, home string) []frameworkCall {
			return []frameworkCall{
				{[]any{"writeFile", map[string]string{"path": "new", "content": "one\n"}}, `"` + project + `/new"`},
				{[]any{"editFile", map[string]string{"path": "new", "find": "one", "replace": "two"}}, `"` + project + `/new"`},
				{[]any{"readFile", map[string]string{"path": "new"}}, "two"},
				{[]any{"writeFile", map[string]string{"path": home + "/planted", "content": "x"}}, "none of the sandboxes"},
				{[]any{"readFile", map[string]string{"path": home + "/secret"}}, "none of the sandboxes"},
			}
		},
	},
}

// frameworkCall is a call of a tool as the model makes it, and a part of the answer that it gets.
type frameworkCall struct {
	step   any
	answer string
}

// Programs that build agents, with the client's tools and backends for their packages: commands run in the sandbox, a
// no and a limit reach the model with the reason, a yes for the session holds, and files go through the daemon. R-IP-06
func TestFrameworksThemselves(t *testing.T) {
	t.Parallel()
	var pkgs []string
	for _, f := range frameworks {
		pkgs = append(pkgs, f.pkgs...)
	}
	packages := vendorPackages(t, pkgs...)
	if packages == "" {
		return
	}
	programs := frameworkPrograms(t, packages)
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			var mu sync.Mutex
			asked := map[string]int32{} // by command
			v := newVendor(ordinaryActor(t), packages, countedAnswers(&mu, asked))
			v.sh("echo old > old")
			home := filepath.Join(v.dir, "home")
			calls, steps := frameworkSteps(v, f.files(v.project, home))
			port, lines := v.model(f.model[0], append([]string{string(jsonOf(t, steps))}, f.model[1:]...)...)
			argv := append([]string{filepath.Join(programs, f.name+".mjs"), port}, f.args...)
			if r := v.do(strings.NewReader(""), node(t), argv...); r.code != 0 {
				t.Fatal(r)
			}
			for _, c := range calls {
				if got := v.answer(lines); !strings.Contains(got, c.answer) || strings.Contains(got, "SECRET") {
					t.Errorf("%s answered %s, want %q", jsonOf(t, c.step), got, c.answer)
				}
			}
			for _, c := range hookedCalls[1:] {
				if asked[c.command] != c.asked {
					t.Errorf("%s: asked %d times, want %d", c.name, asked[c.command], c.asked)
				}
			}
			if got := v.sh("cat made granted; ls denied " + home + "/planted 2>/dev/null || :"); got != "inside\nyes\nyes\n" {
				t.Errorf("the calls wrote %q", got)
			}
			if log := v.sbx("log", "--json"); !strings.Contains(log.out, f.title) {
				t.Errorf("the log does not name %s: %v", f.title, log)
			}
		})
	}
	t.Run("types", func(t *testing.T) {
		client := filepath.Dir(compiledTypeScript(t))
		tsc := exec.Command(filepath.Join(client, "node_modules/.bin/tsc"), "--noEmit", "--strict", "--skipLibCheck",
			"--module", "nodenext", "--target", "es2023", "--types", "node",
			"--typeRoots", filepath.Join(client, "node_modules/@types"), "fit.ts")
		tsc.Dir = programs
		if out, err := tsc.CombinedOutput(); err != nil {
			t.Errorf("the tools and backends have other types than the packages: %v\n%s", err, out)
		}
	})
}

// frameworkSteps are the calls of commands that agents make, then those of files, and what the model is to call.
func frameworkSteps(v *vendor, files []frameworkCall) (calls []frameworkCall, steps []any) {
	for i, c := range hookedCalls {
		if i == 0 {
			c.command = v.look("made")
		}
		calls = append(calls, frameworkCall{c.command, c.answer})
	}
	for i, c := range append(calls, files...) {
		if steps = append(steps, c.step); i >= len(calls) {
			calls = append(calls, c)
		}
	}
	return calls, steps
}

// frameworkPrograms is a folder with the programs, from which the packages and the client can be imported.
func frameworkPrograms(t *testing.T, packages string) string {
	t.Helper()
	dir, err := os.MkdirTemp(bin, "frameworks-")
	if err != nil {
		t.Fatal(err)
	}
	client := filepath.Dir(compiledTypeScript(t))
	line := "chmod 755 . && mkdir node_modules && ln -s " + client + " node_modules/sandboxd-client && " +
		"cp -r \"$1\" programs && " +
		"echo '{\"type\": \"module\"}' > programs/package.json && " +
		"ln -s " + packages + " programs/node_modules"
	source, err := filepath.Abs("testdata/frameworks")
	if err != nil {
		t.Fatal(err)
	}
	make := exec.Command("/bin/sh", "-c", line, "sh", source)
	make.Dir = dir
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "programs")
}
