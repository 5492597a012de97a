package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandboxd/shell"
)

// gitHarmless are variables of git's that change nothing that a reading command reads, writes or runs.
var gitHarmless = strings.Fields(`GIT_ALLOC_LIMIT GIT_ALLOW_NULL_SHA1 GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_IDENT
	GIT_AUTHOR_NAME GIT_BASENAME_FACTOR GIT_CHERRY_PICK_HELP GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL GIT_COMMITTER_IDENT
	GIT_COMMITTER_NAME GIT_DEFAULT_BRANCH GIT_DIFFTOOL_DIRDIFF GIT_DIFFTOOL_EXTCMD GIT_DIFFTOOL_TRUST_EXIT_CODE
	GIT_DIFF_TOOL GIT_DISABLE_UNTRACKED_CACHE GIT_EXT_SERVICE GIT_EXT_SERVICE_NOPREFIX GIT_FLUSH GIT_FORCE_THREADS
	GIT_FORCE_UNTRACKED_CACHE GIT_INDEX_VERSION GIT_MAN_VIEWER GIT_MERGETOOL_GUI GIT_MERGE_AUTOEDIT
	GIT_MERGE_VERBOSITY GIT_MMAP_LIMIT GIT_NOTES_REWRITE_MODE GIT_NOTES_REWRITE_REF GIT_NO_REPLACE_OBJECTS
	GIT_OVERRIDE_VIRTUAL_HOST GIT_PAGER_IN_USE GIT_PRINT_SHA1_ELLIPSIS GIT_PROGRESS_DELAY GIT_PROTOCOL
	GIT_PROTOCOL_FROM_USER
	GIT_PUSH_OPTION_COUNT GIT_REFLOG_ACTION GIT_REF_PARANOIA GIT_TEXTDOMAINDIR GIT_TRACE_REDACT GIT_TRANSLOOP_DEBUG
	GIT_TRANSPORT_HELPER_DEBUG GIT_USER_AGENT GIT_TRACE2_BRIEF GIT_TRACE2_EVENT_BRIEF GIT_TRACE2_EVENT_NESTING
	GIT_TRACE2_MAX_FILES GIT_TRACE2_PERF_BRIEF
	GIT_MAX_HEXSZ GIT_COMMONDIR`) // the last two are words of its messages

// R-SH-03: a git command that runs unasked gets no variable by which git reads another repository or configuration,
// means other files, or writes elsewhere: each variable in the installed git is set, unset or harmless. A line or
// request that sets one asks.
func TestGitVariables(t *testing.T) {
	tool, err := shell.New(shell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(line string, env map[string]string) shell.Verdict {
		return judgePlain(tool, shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/h", Env: env})
	}
	v := judge("git log --stat", nil)
	if v.Decision != shell.Auto {
		t.Fatal(v.Why)
	}
	for _, name := range append(slices.Clone(v.Unset), "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_PAGER", "HOME") {
		for _, value := range []string{"1", "0", "", "x"} {
			if d := judge("git log --stat", map[string]string{name: value}).Decision; d != shell.Ask {
				t.Errorf("with %s=%s in the request: %v", name, value, d)
			}
			for _, line := range []string{name + "=" + value + " git log --stat", "env " + name + "=" + value + " git log"} {
				if d := judge(line, nil).Decision; d != shell.Ask {
					t.Errorf("%s: %v", line, d)
				}
			}
		}
	}
	program, err := exec.LookPath("git")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`GIT_[A-Z0-9_]+\x00`).FindAll(text, -1)
	if len(found) < 50 {
		t.Fatalf("only %d variables in %s", len(found), program)
	}
	for _, b := range found {
		name := strings.Trim(string(b), "\x00")
		_, set := v.Env[name]
		if !set && !slices.Contains(v.Unset, name) && !slices.Contains(gitHarmless, name) &&
			!strings.HasPrefix(name, "GIT_TEST_") { // of git's own tests
			t.Errorf("%s is neither set nor unset nor known to be harmless", name)
		}
	}
}
