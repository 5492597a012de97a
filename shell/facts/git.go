package facts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/shell"
)

const maxSubs = 50

// git returns the programs that git would run when it reads in a directory, for every
// repository that it could use.
func (g *gatherer) git(dir string) shell.GitFact {
	real, missing, err := resolve(dir)
	switch {
	case err != nil:
		return shell.GitFact{Err: reason(err)}
	case missing:
		return shell.GitFact{}
	}
	repos, err := git.Find(git.Disk, real)
	if err != nil {
		return shell.GitFact{Err: err.Error()}
	}
	var fact shell.GitFact
	if len(repos) > 0 {
		fact = shell.GitFact{Repository: true, Dir: repos[0].Dir, Worktree: repos[0].Worktree}
	} else {
		repos = []git.Repository{{}}
	}
	for _, repo := range repos {
		if err := g.inspect(repo, &fact); err != nil {
			fact.Err = err.Error()
			break
		}
	}
	slices.Sort(fact.Drivers)
	return fact
}

// object returns the type of the object that a revision means in a directory, in each repository that git could use
// there: a blob in one of them counts.
func (g *gatherer) object(name string) shell.ObjectFact {
	at := strings.LastIndexByte(name, ':')
	if at < 0 {
		return shell.ObjectFact{Err: "the question names no directory"}
	}
	real, _, err := resolve(name[:at])
	if err != nil {
		return shell.ObjectFact{Err: reason(err)}
	}
	repos, err := git.Find(git.Disk, real)
	if err != nil {
		return shell.ObjectFact{Err: err.Error()}
	}
	var fact shell.ObjectFact
	for _, repo := range repos {
		settings, err := git.Reader{Host: git.Disk, Home: g.o.Home, Over: g.over}.Config(repo)
		if err != nil {
			return shell.ObjectFact{Err: err.Error()}
		}
		o := git.Objects{Host: git.Disk, Repo: repo, Hash: git.HashSize(settings), Over: g.over}
		t, err := o.Type(name[at+1:])
		if err != nil {
			return shell.ObjectFact{Err: err.Error()}
		}
		if fact.Type == git.NoObject || t == git.Blob {
			fact.Type = t
		}
	}
	return fact
}

// inspect adds the programs of a repository and of its submodules. The zero repository has
// those of the user's configuration.
func (g *gatherer) inspect(repo git.Repository, fact *shell.GitFact) error {
	r := git.Reader{Host: git.Disk, Home: g.o.Home, Over: g.over}
	settings, err := r.Config(repo)
	if err != nil {
		return err
	}
	fact.Hooks = append(fact.Hooks, r.HookDirs(repo, settings)...)
	for _, u := range r.Uses(repo, settings) {
		addUse(fact, u)
	}
	if repo.Dir == "" {
		return nil
	}
	if repo.Dir == fact.Dir {
		fact.Routes, fact.Branch = git.RoutesOf(settings), git.Branch(git.Disk, repo)
	}
	drivers, err := r.Drivers(repo, settings)
	if err != nil {
		return err
	}
	for _, d := range drivers {
		addDriver(fact, d)
	}
	return g.submodules(repo, settings, fact)
}

// addDriver adds a driver. A driver of the repository's own configuration always counts; one of
// the user's or the system's counts only if an attribute file selects it.
func addDriver(fact *shell.GitFact, d git.Driver) {
	for _, s := range d.Settings {
		if s.Local || d.Selected {
			addUse(fact, git.Use{Key: s.Key(), Value: s.Value, Origin: s.File})
		}
	}
	if !d.Selected && !slices.Contains(fact.Drivers, d.Name) {
		fact.Drivers = append(fact.Drivers, d.Name)
	}
}

func addUse(fact *shell.GitFact, u git.Use) {
	if !slices.ContainsFunc(fact.Programs, func(q git.Use) bool { return q.Key == u.Key && q.Origin == u.Origin }) {
		fact.Programs = append(fact.Programs, u)
	}
}

// submodules adds the submodules in the work tree that git status and git diff read: those that
// the index has as links.
func (g *gatherer) submodules(repo git.Repository, settings []git.Setting, fact *shell.GitFact) error {
	if repo.Worktree == "" {
		return nil
	}
	links, err := git.Links(git.Disk, repo, settings)
	if err != nil {
		return err
	}
	if len(links) > maxSubs {
		return fmt.Errorf("read submodules of %q: there are more than %d", repo.Worktree, maxSubs)
	}
	for _, link := range links {
		at := path.Join(repo.Worktree, link)
		if !strings.HasPrefix(at, repo.Worktree+"/") {
			return fmt.Errorf("read submodule %q: it leaves the work tree", link)
		}
		if _, err := git.Disk.Lstat(path.Join(at, ".git")); err != nil {
			continue // not checked out
		}
		subs, err := git.Find(git.Disk, at)
		if err != nil {
			return err
		}
		if len(subs) == 0 || subs[0].Dir == repo.Dir || g.over() {
			return fmt.Errorf("read submodule %q: its repository was not found", link)
		}
		if err := g.inspect(subs[0], fact); err != nil {
			return err
		}
	}
	return nil
}
