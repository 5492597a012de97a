package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"sandboxd/shell"
	"sandboxd/shell/safelist"
)

// repository is where git keeps what it knows of a directory.
type repository struct {
	dir      string // the git directory
	common   string // what linked worktrees share
	worktree string // "" for a bare repository
}

// git finds out which programs git would run when it reads in a directory.
func (g *gatherer) git(dir string) shell.GitFact {
	real, missing, err := resolve(dir)
	switch {
	case err != nil:
		return shell.GitFact{Err: reason(err)}
	case missing:
		return shell.GitFact{}
	}
	repo, found, err := findRepository(real)
	if err != nil {
		return shell.GitFact{Err: err.Error()}
	}
	var fact shell.GitFact
	if found {
		fact = shell.GitFact{Repository: true, Dir: repo.dir, Worktree: repo.worktree}
	}
	if err := g.inspect(repo, found, &fact); err != nil {
		fact.Err = err.Error()
	}
	return fact
}

// findRepository looks for a repository in dir and above, as git does
// (setup_git_directory): a .git directory, a .git file that names one, or a
// directory that is one itself.
func findRepository(dir string) (repository, bool, error) {
	for at := dir; ; at = path.Dir(at) {
		dot := path.Join(at, ".git")
		info, err := os.Stat(dot)
		switch {
		case err == nil && info.IsDir() && isGitDir(dot):
			return opened(dot, at)
		case err == nil && info.Mode().IsRegular():
			text, err := readSmall(dot, 4096)
			if err != nil {
				return repository{}, false, fmt.Errorf("read %q: %w", dot, err)
			}
			to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
			if !ok {
				return repository{}, false, fmt.Errorf("read %q: it does not name a git directory", dot)
			}
			if !path.IsAbs(to) {
				to = path.Join(at, to)
			}
			return opened(to, at)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return repository{}, false, fmt.Errorf("look at %q: %s", dot, reason(err))
		case isGitDir(at):
			return opened(at, "")
		case at == "/":
			return repository{}, false, nil
		}
	}
}

// isGitDir is git's own test: HEAD, objects and refs.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(path.Join(dir, name)); err != nil {
			if name != "HEAD" {
				if _, err := os.Lstat(path.Join(dir, "commondir")); err == nil {
					continue
				}
			}
			return false
		}
	}
	return true
}

func opened(dir, worktree string) (repository, bool, error) {
	real, missing, err := resolve(dir)
	if err != nil || missing {
		return repository{}, false, fmt.Errorf("open the git directory %q: it cannot be followed", dir)
	}
	r := repository{dir: real, common: real, worktree: worktree}
	text, err := readSmall(path.Join(real, "commondir"), 4096)
	if err == nil {
		to := strings.TrimRight(string(text), "\r\n")
		if !path.IsAbs(to) {
			to = path.Join(real, to)
		}
		if r.common, missing, err = resolve(to); err != nil || missing {
			return repository{}, false, fmt.Errorf("open the git directory %q: its common directory cannot be followed", dir)
		}
	}
	return r, true, nil
}

// inspect reads the configuration in force, then that of submodules.
func (g *gatherer) inspect(repo repository, found bool, fact *shell.GitFact) error {
	var settings []setting
	read := func(local bool, files ...string) error {
		for _, f := range files {
			if err := g.readConfig(f, local, 0, &settings); err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(false, systemConfig...); err != nil {
		return err
	}
	if g.o.Home != "" {
		if err := read(false, path.Join(g.o.Home, ".config/git/config"), path.Join(g.o.Home, ".gitconfig")); err != nil {
			return err
		}
	}
	if found {
		files := []string{path.Join(repo.common, "config"), path.Join(repo.common, "config.worktree")}
		if repo.dir != repo.common {
			files = append(files, path.Join(repo.dir, "config.worktree"))
		}
		if err := read(true, files...); err != nil {
			return err
		}
	}
	note(settings, repo, fact)
	if !found {
		return nil
	}
	g.hooks(repo, settings, fact)
	if err := g.drivers(repo, settings, fact); err != nil {
		return err
	}
	return g.submodules(repo, settings, fact)
}

// systemConfig are the places of git's system-wide configuration.
var systemConfig = []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"}

// shows are the sub-commands that show differences.
var shows = []string{"diff", "log", "show", "whatchanged", "stash", "reflog", "diff-tree", "diff-index", "diff-files", "range-diff", "format-patch", "blame", "annotate", "grep", "cat-file"}

// logs are the sub-commands that show commits.
var logs = []string{"log", "show", "whatchanged", "reflog", "stash", "shortlog", "rev-list", "diff-tree"}

// note records the keys that make git run a program.
func note(settings []setting, repo repository, fact *shell.GitFact) {
	add := func(s setting, only []string) {
		fact.Programs = append(fact.Programs, shell.GitProgram{Key: s.key(), Value: clip(s.value), Origin: s.file, Only: only})
	}
	quieted := func(s setting, only []string) {
		add(s, only)
		fact.Programs[len(fact.Programs)-1].Quieted = true
	}
	// All values count, not only the last: an include whose condition does not
	// hold may be what seems to take a program back.
	for _, s := range settings {
		switch key := s.section + "." + s.name; {
		case key == "core.fsmonitor" && !boolean(s):
			add(s, nil)
		case key == "diff.external" && s.value != "":
			add(s, shows)
		case key == "core.worktree" && !leadsTo(s, repo):
			add(s, nil)
		case key == "log.showsignature" && !isFalse(s):
			add(s, logs)
		case (s.section == "pretty" || key == "format.pretty") && safelist.GitVerifies(s.value):
			add(s, logs)
		case key == "log.diffmerges" && (s.value == "r" || s.value == "remerge"):
			quieted(s, logs) // with -m it merges again, with the merge drivers
		case key == "extensions.partialclone", key == "remote.promisor" && !isFalse(s), key == "remote.partialclonefilter":
			// A missing object is fetched, with whatever program the remote's address names.
			add(s, nil)
		case s.section == "alias" && strings.EqualFold(orElse(s.sub, s.name), "whatchanged"):
			// Git's own commands go before aliases, but git 3.0 has this one no longer (git's BreakingChanges).
			add(s, []string{"whatchanged"})
		case key == "core.alternaterefscommand":
			add(s, []string{"rev-list", "for-each-ref"})
		case (key == "core.pager" || s.section == "pager") && !boolean(s) && repo.holds(s.file):
			quieted(s, nil)
		}
	}
}

// hooks notes the one hook that commands run which only read: they write the index anew where the times of
// files have changed (githooks(5), post-index-change).
func (g *gatherer) hooks(repo repository, settings []setting, fact *shell.GitFact) {
	dirs := []string{path.Join(repo.common, "hooks")}
	for _, s := range settings {
		if s.section == "core" && s.name == "hookspath" && s.value != "" {
			dir := s.value
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = path.Join(g.o.Home, below)
			} else if !path.IsAbs(dir) {
				dir = path.Join(orElse(repo.worktree, repo.dir), dir)
			}
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		hook := path.Join(dir, "post-index-change")
		if _, err := os.Stat(hook); err == nil {
			fact.Programs = append(fact.Programs, shell.GitProgram{Key: "hook post-index-change", Value: clip(hook), Origin: dir, Quieted: true})
		}
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// holds says whether a file belongs to the repository, not to the person or the system.
func (r repository) holds(file string) bool {
	return within(file, r.dir) || within(file, r.common) || r.worktree != "" && within(file, r.worktree)
}

func within(file, dir string) bool { return dir != "" && strings.HasPrefix(file, dir+"/") }

// leadsTo says whether core.worktree names the work tree that was found anyway,
// as it does in submodules.
func leadsTo(s setting, repo repository) bool {
	to := s.value
	if !path.IsAbs(to) {
		to = path.Join(repo.dir, to)
	}
	real, missing, err := resolve(to)
	return err == nil && !missing && real == repo.worktree
}

// boolean says whether a value is one that git reads as true or false, so that
// it names no program. core.fsmonitor = true starts git's own daemon, which is
// switched off by environment.
func boolean(s setting) bool {
	if !s.set {
		return true
	}
	switch strings.ToLower(s.value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	_, err := strconv.Atoi(s.value)
	return err == nil
}

func isFalse(s setting) bool {
	if !s.set {
		return false
	}
	switch strings.ToLower(s.value) {
	case "", "false", "no", "off", "0":
		return true
	}
	return false
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
