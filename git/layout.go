package git

import (
	"path"
	"strings"
)

// A Part is a file or directory of a git directory that makes git run a program or leads it elsewhere.
type Part struct {
	// Name is relative to the git directory; "*" stands for one element, and a "/" at the end for everything below.
	Name string
	Why  string
}

// Parts is the one list of them (gitrepository-layout(5)). Linked work trees have a git directory below worktrees,
// absorbed submodules one below modules, at any depth.
var Parts = []Part{
	{"HEAD", "without it git continues with the repository around this one"},
	{"config", "names programs"},
	{"config.worktree", "names programs"},
	{"commondir", "names the directory of the configuration, hooks and objects"},
	{"gitdir", "names the work tree of a linked git directory"},
	{"hooks/", "git executes its files"},
	{"info/attributes", "selects drivers, which are programs"},
	{"info/sparse-checkout", "selects what is checked out"},
	{"objects/info/alternates", "names another object directory"},
	{"objects/info/http-alternates", "names another object directory"},
	{"branches/", "names remote addresses"},
	{"remotes/", "names remote addresses"},
	{"rebase-merge/", "holds the lines that git rebase --continue executes"},
	{"rebase-apply/", "holds the options with which git am --continue runs"},
	{"sequencer/", "holds the options with which git cherry-pick --continue runs"},
	{"worktrees/*/commondir", "names the directory of the configuration, hooks and objects"},
	{"worktrees/*/gitdir", "names the work tree"},
	{"worktrees/*/config.worktree", "names programs"},
	{"worktrees/*/HEAD", "without it git continues with the repository around the work tree"},
	{"modules/", "holds the git directories of submodules"},
}

// PartOf returns the part to which a name, relative to a git directory, belongs.
func PartOf(name string) (Part, bool) {
	for _, p := range Parts {
		if dir, ok := strings.CutSuffix(p.Name, "/"); ok {
			if name == dir || strings.HasPrefix(name, p.Name) {
				return p, true
			}
			continue
		}
		if ok, _ := path.Match(p.Name, name); ok {
			return p, true
		}
	}
	return Part{}, false
}
