package layer

import (
	"maps"
	"path"
	"slices"
	"strings"

	"sandboxd/git"
)

// gitReads returns the conflicts of a landing with what the references in it rest on, where that changed since the run
// began: the branch of a new HEAD, of which the landing's index and files are; the root's HEAD, which names a branch by
// now that the landing moves; and packed references of the same names, which a landing's files hide.
func (m *mover) gitReads() (out []Note) {
	moves, landing := map[Name]bool{}, map[Name]int{} // paths of references; their own checks compare them
	for _, i := range m.todo {
		op := m.set.Ops[i]
		for _, n := range slices.Concat(op.Old, op.New) {
			at := join(op.Path, n.Path)
			if dir, base := at.split(); m.to[i] && (git.IsReference(base) || strings.Contains("/"+string(dir)+"/", "/refs/")) {
				moves[at] = true
			}
		}
		for _, n := range op.New {
			if at := join(op.Path, n.Path); moves[at] && n.Kind == File {
				landing[at] = i
			}
		}
	}
	note := func(at Name, reason string) {
		if s, err := stat(m.root, string(at)); !moves[at] && err == nil && s.CTime >= m.set.Stamp {
			moves[at], out = true, append(out, Note{at, reason + " since the run began"})
		}
	}
	dirs, repository := map[Name]*gitDir{}, repositories(m.root)
	for _, at := range slices.Sorted(maps.Keys(landing)) {
		i := landing[at]
		repo, ok := repository(at)
		if !ok {
			continue
		}
		if dirs[repo] == nil {
			dirs[repo] = m.gitDir(repo)
		}
		dir, ref := dirs[repo], at
		hides := !slices.ContainsFunc(m.set.Ops[i].Old, func(n Node) bool { return join(m.set.Ops[i].Path, n.Path) == at })
		switch {
		case at == join(repo, "HEAD"):
			if ref = dir.branch(m.read(m.slots, itoa(i))); ref == "" {
				continue
			}
			hides = !moves[ref] && m.read(m.root, string(ref)) == ""
			note(ref, "the branch that is checked out moved")
		case dir.head == ref:
			note(join(repo, "HEAD"), "the branch was checked out")
		}
		name, _ := strings.CutPrefix(string(ref), string(dir.common)+"/")
		if hides && strings.Contains(dir.packed, " "+name+"\n") {
			note(join(dir.common, "packed-refs"), name+" was packed")
		}
	}
	return out
}

// gitDir is a git directory of the root: the one that has its references, that of HEAD, and the packed ones.
type gitDir struct {
	common, head Name
	packed       string
}

func (m *mover) gitDir(at Name) *gitDir {
	d := &gitDir{common: at}
	if to := strings.TrimSpace(m.read(m.root, string(at)+"/commondir")); to != "" {
		d.common = Name(path.Join(string(at), to))
	}
	d.head = d.branch(m.read(m.root, string(at)+"/HEAD"))
	d.packed = m.read(m.root, string(d.common)+"/packed-refs")
	return d
}

// branch returns the path of the reference that the text of a HEAD names; "" for none.
func (d *gitDir) branch(head string) Name {
	ref, ok := strings.CutPrefix(strings.TrimSpace(head), "ref: ")
	if !ok || !strings.HasPrefix(path.Clean(ref), "refs/") {
		return ""
	}
	return join(d.common, Name(path.Clean(ref)))
}

// read returns the text of a file of references; "" where there is none.
func (m *mover) read(dir int, name string) string {
	text, err := git.Disk.ReadFile(procPath(dir)+"/"+name, maxReferences)
	if err != nil {
		return ""
	}
	return string(text)
}
