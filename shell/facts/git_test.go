package facts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sandboxd/shell"
)

// run runs git as the test's own user, without any configuration but the repository's.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func temp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// repo makes a repository with one commit.
func repo(t *testing.T) string {
	t.Helper()
	dir := temp(t)
	run(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a.x"), "a\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "first")
	return dir
}

func gitFact(t *testing.T, dir, home string) shell.GitFact {
	t.Helper()
	g := gatherer{ctx: context.Background(), o: Options{Home: home}}
	return g.git(dir)
}

func keys(f shell.GitFact) []string {
	var out []string
	for _, p := range f.Programs {
		out = append(out, p.Key)
	}
	slices.Sort(out)
	return out
}

// R-SH-03: every way in which a repository names a program is seen.
func TestGitPrograms(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir, home string)
		want  []string
		drive []string
	}{
		{"plain", func(*testing.T, string, string) {}, nil, nil},
		{"fsmonitor", func(t *testing.T, dir, _ string) { run(t, dir, "config", "core.fsmonitor", "touch x") }, []string{"core.fsmonitor"}, nil},
		{"git's own fsmonitor", func(t *testing.T, dir, _ string) { run(t, dir, "config", "core.fsmonitor", "true") }, nil, nil},
		{"external diff", func(t *testing.T, dir, _ string) { run(t, dir, "config", "diff.external", "x") }, []string{"diff.external"}, nil},
		{"odd spelling", func(t *testing.T, dir, _ string) {
			appendTo(t, dir+"/.git/config", "[ DiFf ]\n", "[DiFf]\n\tEXTERNAL = \"to\"\\\nuch\n")
		}, []string{"diff.external"}, nil},
		{"textconv", func(t *testing.T, dir, _ string) {
			run(t, dir, "config", "diff.t.textconv", "cat")
			write(t, dir+"/.gitattributes", "*.x diff=t\n")
		}, []string{"diff.t.textconv"}, nil},
		{"filter that nothing selects, of the user", func(t *testing.T, _, home string) {
			write(t, home+"/.gitconfig", "[filter \"lfs\"]\n clean = git-lfs clean\n")
		}, nil, []string{"filter.lfs"}},
		{"filter of the user that is selected", func(t *testing.T, dir, home string) {
			write(t, home+"/.gitconfig", "[filter \"lfs\"]\n clean = git-lfs clean\n")
			write(t, dir+"/sub/.gitattributes", "*.bin filter=lfs diff=lfs\n")
		}, []string{"filter.lfs.clean"}, nil},
		{"selected in info/attributes", func(t *testing.T, dir, home string) {
			write(t, home+"/.config/git/config", "[filter \"z\"]\n process = zz\n")
			write(t, dir+"/.git/info/attributes", "* filter=z\n")
		}, []string{"filter.z.process"}, nil},
		{"include", func(t *testing.T, dir, _ string) {
			write(t, dir+"/.git/more", "[core]\nfsmonitor = evil\n")
			run(t, dir, "config", "include.path", "more")
		}, []string{"core.fsmonitor"}, nil},
		{"conditional include", func(t *testing.T, dir, _ string) {
			write(t, dir+"/.git/more", "[diff]\nexternal = evil\n")
			run(t, dir, "config", "includeIf.onbranch:nosuch.path", "more")
		}, []string{"diff.external"}, nil},
		{"include that takes back", func(t *testing.T, dir, _ string) {
			write(t, dir+"/.git/more", "[core]\nfsmonitor = false\n")
			run(t, dir, "config", "core.fsmonitor", "evil")
			run(t, dir, "config", "includeIf.onbranch:nosuch.path", "more")
		}, []string{"core.fsmonitor"}, nil},
		{"signatures", func(t *testing.T, dir, _ string) { run(t, dir, "config", "log.showSignature", "true") }, []string{"log.showsignature"}, nil},
		{"a format with signatures", func(t *testing.T, dir, _ string) { run(t, dir, "config", "pretty.x", "%H %G?") }, []string{"pretty.x"}, nil},
		{"a format with signatures in its other spelling", func(t *testing.T, dir, _ string) { run(t, dir, "config", "format.pretty", "%H%+G?") }, []string{"format.pretty"}, nil},
		{"merging again", func(t *testing.T, dir, _ string) { run(t, dir, "config", "log.diffMerges", "remerge") }, []string{"log.diffmerges"}, nil},
		{"a hook", func(t *testing.T, dir, _ string) { write(t, dir+"/.git/hooks/post-index-change", "#!/bin/sh\n") }, []string{"hook post-index-change"}, nil},
		{"a hook in the work tree", func(t *testing.T, dir, home string) {
			run(t, dir, "config", "--file", home+"/.gitconfig", "core.hooksPath", ".githooks")
			write(t, dir+"/.githooks/post-index-change", "#!/bin/sh\n")
		}, []string{"hook post-index-change"}, nil},
		{"lazy fetching", func(t *testing.T, dir, _ string) {
			run(t, dir, "config", "extensions.partialClone", "origin")
			run(t, dir, "config", "remote.origin.promisor", "true")
		}, []string{"extensions.partialclone", "remote.origin.promisor"}, nil},
		{"worktree configuration", func(t *testing.T, dir, _ string) {
			write(t, dir+"/.git/config.worktree", "[core]\nfsmonitor = evil\n")
		}, []string{"core.fsmonitor"}, nil},
		{"a work tree elsewhere", func(t *testing.T, dir, _ string) { run(t, dir, "config", "core.worktree", "/etc") }, []string{"core.worktree"}, nil},
		{"a submodule's", func(t *testing.T, dir, _ string) {
			sub := repo(t)
			run(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "sub")
			run(t, dir+"/sub", "config", "core.fsmonitor", "evil")
		}, []string{"core.fsmonitor"}, nil},
		{"a nested repository that the index links", func(t *testing.T, dir, _ string) {
			run(t, dir, "init", "-q", "nested")
			run(t, dir+"/nested", "commit", "-q", "--allow-empty", "-m", "x")
			run(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "nested")
			run(t, dir+"/nested", "config", "diff.external", "evil")
		}, []string{"diff.external"}, nil},
		{"an alias and an editor", func(t *testing.T, dir, _ string) {
			run(t, dir, "config", "alias.status", "!touch x")
			run(t, dir, "config", "core.editor", "touch x")
		}, nil, nil},
		{"pagers of the repository, and one of the person's", func(t *testing.T, dir, home string) {
			run(t, dir, "config", "core.pager", "touch x")
			run(t, dir, "config", "pager.log", "touch x")
			run(t, dir, "config", "pager.diff", "false")
			run(t, dir, "config", "--file", home+"/.gitconfig", "pager.show", "delta")
		}, []string{"core.pager", "pager.log"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, home := repo(t), temp(t)
			c.setup(t, dir, home)
			f := gitFact(t, dir, home)
			if f.Err != "" || !f.Repository {
				t.Fatalf("%+v", f)
			}
			if got := keys(f); !slices.Equal(got, c.want) {
				t.Errorf("programs %v, want %v", got, c.want)
			}
			if !slices.Equal(f.Drivers, c.drive) {
				t.Errorf("drivers %v, want %v", f.Drivers, c.drive)
			}
		})
	}
}

func appendTo(t *testing.T, name string, texts ...string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, string(b)+texts[len(texts)-1])
}

// What cannot be read for certain is an error, and asks.
func TestGitDoubt(t *testing.T) {
	for name, setup := range map[string]func(t *testing.T, dir string){
		"broken configuration": func(t *testing.T, dir string) { write(t, dir+"/.git/config", "[core\n") },
		"broken index": func(t *testing.T, dir string) {
			write(t, dir+"/.git/index",
				"DIRC rubbish that is long enough")
		},
		"a .git file that says nothing": func(t *testing.T, dir string) {
			must(t, os.Rename(dir+"/.git", dir+"/x"))
			write(t, dir+"/.git", "hello\n")
		},
		"a .git file that leads nowhere": func(t *testing.T, dir string) {
			must(t, os.Rename(dir+"/.git", dir+"/x"))
			write(t, dir+"/.git", "gitdir: /nosuch\n")
		},
		"a pipe for a configuration": func(t *testing.T, dir string) {
			must(t, os.Remove(dir+"/.git/config"))
			must(t, mkfifo(dir+"/.git/config"))
		},
		"includes without end": func(t *testing.T, dir string) {
			appendTo(t, dir+"/.git/config",
				"[include]\npath = config\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := repo(t)
			setup(t, dir)
			if f := gitFact(t, dir, ""); f.Err == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Repositories are found where git finds them.
func TestGitDiscovery(t *testing.T) {
	dir := repo(t)
	must(t, os.MkdirAll(dir+"/deep/er", 0o755))
	run(t, dir, "worktree", "add", "-q", dir+"-linked")
	t.Cleanup(func() { os.RemoveAll(dir + "-linked") })
	bare := temp(t)
	run(t, bare, "init", "-q", "--bare")
	for where, want := range map[string]string{dir: dir, dir + "/deep/er": dir, dir + "-linked": dir + "-linked", dir +
		"/.git": "", bare: "", bare + "/refs": ""} {
		f := gitFact(t, where, "")
		if !f.Repository || f.Worktree != want || f.Err != "" {
			t.Errorf("%s: %+v, want the work tree %q", where, f, want)
		}
	}
	if f := gitFact(t, "/", ""); f.Repository || f.Err != "" {
		t.Errorf("/: %+v", f)
	}
	// A linked work tree's configuration is the repository's.
	run(t, dir, "config", "core.fsmonitor", "evil")
	if f := gitFact(t, dir+"-linked", ""); len(f.Programs) != 1 {
		t.Errorf("linked: %+v", f)
	}
}

// R-SH-03: an alias counts under the name of a listed sub-command that newer versions of git have no longer.
func TestGitAliasOfListed(t *testing.T) {
	for alias, want := range map[string]int{
		"[alias]\n\twhatchanged = !touch pwned\n\tlog = !touch pwned\n": 1,
		"[alias \"WhatChanged\"]\n\tcommand = !touch pwned\n":           1,
		"[alias]\n\tst = !touch pwned\n":                                0,
	} {
		dir := repo(t)
		write(t, filepath.Join(dir, ".git/config"), "[core]\n\trepositoryformatversion = 0\n"+alias)
		fact := gitFact(t, dir, "")
		if len(fact.Programs) != want || want == 1 && !slices.Equal(fact.Programs[0].Only, []string{"whatchanged"}) {
			t.Errorf("%q: programs %v", alias, fact.Programs)
		}
	}
}
