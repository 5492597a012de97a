package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-AP-22: a program that the configuration names judges every call through the socket,
// too: it forbids what would run, has it asked about, and lets run what would ask; one
// that fails, hangs, or could be exchanged by others asks. What runs inside a sandbox
// can't change it.
//
//   - Row 001-83 yes: rules that a program of the operator adds
func TestRuleProgram(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		program := filepath.Join(a.project, "policy")
		write := func(name, script string) {
			t.Helper()
			at := filepath.Join(a.project, name)
			if err := os.WriteFile(at, []byte("#!/bin/bash\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			if a.cred != nil {
				os.Chown(at, int(a.cred.Uid), int(a.cred.Gid))
			}
		}
		write("policy", `call=$(cat)
case "$call" in
*README*) echo '{"decision": "block", "reason": "the README is out of bounds"}' ;;
*pwd*) echo '{"decision": "ask", "reason": "somebody must see this"}' ;;
*'touch made'*) echo '{"decision": "run", "reason": "it is known"}' ;;
*hostname*) exit 1 ;;
*uname*) sleep 30 ;;
*) echo '{"decision": "none"}' ;;
esac`)
		config := filepath.Join(a.dir, "rules.toml")
		if err := os.WriteFile(config, []byte("[approval]\nno_approver = \"deny\"\nrule_program = \""+program+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if a.cred != nil {
			os.Chown(config, int(a.cred.Uid), int(a.cred.Gid))
		}
		a.start("--config", config)
		a.sbx("trust", a.project)
		run := func(line string) result { t.Helper(); return a.sbx("run", "-n", "-c", line) }
		for line, denied := range map[string]string{
			"ls":          "",
			"cat README":  "the README is out of bounds",
			"pwd":         "nobody",
			"hostname":    "nobody",
			"uname":       "nobody",
			"touch made":  "",
			"touch other": "nobody",
		} {
			got := run(line)
			if denied == "" && got.code != 0 || denied != "" && (got.code == 0 || !strings.Contains(got.err, denied)) {
				t.Errorf("%s: want %q: %v", line, denied, got)
			}
		}
		// What it says binds no less once a person is asked: a block is no question.
		if got := a.sbx("check", "-c", "cat README"); !strings.Contains(got.out+got.err, "out of bounds") {
			t.Errorf("check: %v", got)
		}
		if got := a.sbx("status"); strings.Contains(got.out+got.err, "rule program") {
			t.Errorf("a good program is complained of: %v", got)
		}
		// The daemon does not run a program that others can replace, and the status reports it.
		if err := os.Chmod(program, 0o722); err != nil {
			t.Fatal(err)
		}
		if got, status := run("ls"), a.sbx("status"); got.code == 0 || !strings.Contains(status.err, "chmod go-w") {
			t.Errorf("a program that others may write to counts: %v\n%v", got, status)
		}
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
		// With all approved, the commands themselves still can't change it.
		a.start("--config", config, "--mode", "approve-all")
		before := a.sh("cat policy")
		for _, line := range []string{"echo echo > policy", "mv policy gone", "rm -f policy", "ln -f README policy", "chmod 777 policy", "cp README policy"} {
			if got := run(line); got.code == 0 {
				t.Errorf("%s: %v", line, got)
			}
		}
		if after := a.sh("cat policy; stat -c %a policy"); after != before+"700\n" {
			t.Errorf("the program was changed: %q", after)
		}
		// Nor can they replace one in a deeper directory, behind a link, or before it exists.
		a.sh("mkdir -p tools/deep && mv policy tools/deep/policy && ln -s tools/deep/policy link && ln -s tools/deep other")

		write("evil", `echo '{"decision": "run", "reason": "mine"}'`)
		for _, way := range []struct{ named, line string }{
			{"tools/deep/policy", "mv tools was && mkdir -p tools/deep && cp evil tools/deep/policy"},
			{"tools/deep/policy", "mv tools/deep was && mkdir tools/deep && cp evil tools/deep/policy"},
			{"link", "cp evil tools/deep/policy"},
			{"link", "ln -sf evil link"},
			{"other/policy", "cp evil tools/deep/policy"},
			{"tools/deep/policy", "cat evil > name"},
			{"absent", "cp evil absent"},
		} {
			text := "[approval]\nno_approver = \"deny\"\nrule_program = \"" + filepath.Join(a.project, way.named) + "\"\n"
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if way.line == "cat evil > name" {
				a.sh("ln tools/deep/policy name")
			}
			a.start("--config", config, "--mode", "approve-all")
			got := run(way.line)
			a.start("--config", config)
			if then := run("touch by-evil"); then.code == 0 {
				t.Errorf("%s: %s: what it planted judges: %v\n%v", way.named, way.line, got, then)
			}
			a.sh("rm -rf by-evil absent; test -e tools || mv was tools; test -e tools/deep || mv was tools/deep; rm -rf was")
		}
	})
}
