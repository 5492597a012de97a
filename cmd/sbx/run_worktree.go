package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// worktrees is the directory of the agents' work trees in a project.
const worktrees = ".worktrees"

// worktreeName is a name that is one of a branch, too.
var worktreeName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]|\.[A-Za-z0-9_-])*$`)

// inWorktree runs an agent in a work tree of the project's repository, on a branch of the same name. It may read the
// project, and write the work tree and the files of a commit there.
func (a *app) inWorktree(ctx context.Context, o runOptions) (status int, err error) {
	project := o.cwd
	root, err := os.OpenRoot(project)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	if info, err := root.Lstat(".git"); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("%s is not the top of a git project: start it in the directory with .git, or leave "+
			"--worktree out", project)
	}
	dir := filepath.Join(worktrees, o.worktree)
	if status, err := a.addWorktree(ctx, root, dir); err != nil || status != 0 {
		return status, err
	}
	o.cwd, o.profile = filepath.Join(project, dir), worktreeProfile(o.worktree)
	status, err = a.run(ctx, o)
	a.note("the agent's work is on the branch %s, in %s; changes that are not committed stay there. See it: "+
		"git diff HEAD...%[1]s; take it: git merge %[1]s; drop it: git worktree remove --force %[2]s && git branch -D %[1]s",
		o.worktree, dir)
	return status, err
}

// addWorktree adds a work tree that does not exist yet, in the sandbox: its files are the repository's choice.
func (a *app) addWorktree(ctx context.Context, root *os.Root, dir string) (status int, err error) {
	for _, name := range []string{worktrees, dir} {
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, err
		case !info.IsDir():
			return 0, fmt.Errorf("%s is no directory: remove it, or choose another name", name)
		}
	}
	if _, err := root.Lstat(filepath.Join(dir, ".git")); err == nil {
		return 0, nil
	}
	add := runOptions{argv: []string{"git", "worktree", "add", dir}, noStdin: true,
		description: "a work tree for the agent, on the branch " + filepath.Base(dir)}
	quiet := *a
	quiet.out = a.stderr
	if status, err = quiet.run(ctx, add); err != nil || status != 0 {
		return status, err
	}
	// git of the project itself does not list it.
	ignore, err := root.OpenFile(filepath.Join(worktrees, ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return 0, nil
	}
	if err == nil {
		_, err = ignore.WriteString("*\n")
		err = errors.Join(err, ignore.Close())
	}
	return 0, err
}

// worktreeProfile is the document that narrows an agent's run to its work tree. Its .git names the repository, whose
// settings git executes.
func worktreeProfile(name string) string {
	return fmt.Sprintf(`[paths]
protect = ["${project}", "${project}/%[1]s/%[2]s/.git"]
write = ["${project}/%[1]s/%[2]s", "${project}/.git/objects", "${project}/.git/refs", "${project}/.git/logs",
  "${project}/.git/worktrees/%[2]s"]
`, worktrees, name)
}
