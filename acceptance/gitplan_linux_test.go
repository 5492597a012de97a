package acceptance

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// layouts makes a directory for each layout that a person may have before.
const layouts = `
set -e
export GIT_AUTHOR_NAME=P GIT_AUTHOR_EMAIL=p@example.invalid GIT_COMMITTER_NAME=P GIT_COMMITTER_EMAIL=p@example.invalid
git init -q plain; ( cd plain
	echo x > f; mkdir -p sub/deep; echo y > sub/deep/g; git add .; git commit -qm i; rm -f .git/hooks/*.sample )
cp -a plain nested; ( cd nested
	git init -q inner; cd inner; echo z > h; git add .; git commit -qm n; rm -f .git/hooks/*.sample )
cp -a plain bare; git clone -q --bare plain bare/bare.git; rm -f bare/bare.git/hooks/*.sample
cp -a bare/bare.git root; mkdir -p root/sub/deep
cp -a plain linked; git -C linked worktree add -q wt
cp -a plain submodule; git clone -q --bare plain submodule/origin.git; ( cd submodule
	git -c protocol.file.allow=always submodule --quiet add ./origin.git mod; git commit -qm m
	rm -f .git/modules/mod/hooks/*.sample )
mkdir -p none/sub/deep
`

// layout prepares the directory of a sequence, with the things of a person's that a run could use. A project of its own
// may be a bare repository (root), or a linked work tree of a repository outside (apart).
func layout(r *rand.Rand, s *sequence) {
	kinds := []string{"plain", "bare", "nested", "linked", "submodule", "none"}
	if s.own {
		kinds = append(kinds, "root", "apart")
	}
	s.kind = kinds[r.IntN(len(kinds))]
	switch s.kind {
	case "apart":
		s.setup = fmt.Sprintf("cp -a $T/plain %s-main; git -C %[1]s-main worktree add -q %[1]s\ncd %[1]s\n", s.dir)
	case "linked":
		s.setup = fmt.Sprintf("cp -a $T/linked %s; cd %[1]s\necho \"gitdir: $PWD/.git/worktrees/wt\" > wt/.git\n"+
			"echo \"$PWD/wt/.git\" > .git/worktrees/wt/gitdir\n", s.dir)
	default:
		s.setup = fmt.Sprintf("cp -a $T/%s %s; cd %[2]s\n", s.kind, s.dir)
	}
	if slices.Contains([]string{"none", "root", "apart"}, s.kind) {
		return
	}
	extras := []string{
		"", "", "ln .git/config alias\n",
		"printf '#!/bin/sh\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; ln .git/hooks/post-commit " +
			"alias\n",
		"git config include.path ../team; touch team\n", "mkdir scripts; git config core.hooksPath scripts\n",
		"printf '#!/bin/sh\\n' > hook; chmod +x hook; ln -s ../../hook .git/hooks/post-commit\n",
		"git config core.fsmonitor ./watch; printf '#!/bin/sh\\nexit 1\\n' > watch; chmod +x watch\n",
	}
	s.setup += extras[r.IntN(len(extras))]
}

// sequence is a plan of 1 to 4 runs, each of some steps, in a directory.
type sequence struct {
	n                int  // in its batch
	own              bool // the directory is a project of its own
	dir, kind, setup string
	runs             [4][]string
}

// plan makes the sequence number n of a batch in a project; pwn is the command that shows that git executed it. own: in
// a project of its own.
func plan(r *rand.Rand, project string, n int, pwn string, own bool) sequence {
	s := sequence{n: n, own: own, dir: fmt.Sprintf("%s/s%d", project, n)}
	if own {
		s.dir = fmt.Sprintf("%s-%d", project, n)
	}
	layout(r, &s)
	g := planner{r: r, pwn: pwn, kind: s.kind}
	pieces := g.pieces()
	if r.IntN(4) > 0 {
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	}
	runs := 1 + r.IntN(4)
	for i, piece := range pieces {
		run := i * runs / len(pieces)
		s.runs[run] = append(s.runs[run], piece)
		if r.IntN(6) == 0 {
			s.runs[run] = append(s.runs[run], g.noise())
		}
	}
	for i := range runs - 1 {
		if r.IntN(8) == 0 {
			dir, mode := g.pick("e", "sub", "c", ".git", "wt", "w"), g.pick("0", "111", "311")
			s.runs[i] = append(s.runs[i], fmt.Sprintf("chmod %s %s", mode, dir))
			s.runs[i+1] = slices.Insert(s.runs[i+1], 0, "chmod 755 "+dir)
		}
	}
	return s
}

type planner struct {
	r         *rand.Rand
	pwn, kind string
	n         int
}

func (g *planner) pick(of ...string) string { return of[g.r.IntN(len(of))] }

// put writes a file in one of the ways that there are.
func (g *planner) put(at, text string) string {
	g.n++
	tmp := fmt.Sprintf("t%d", g.n)
	write := fmt.Sprintf("cat > '%s' <<'END'\n%s\nEND\n", tmp, text)
	dir := fmt.Sprintf("mkdir -p '%s'\n", filepath.Dir(at))
	switch g.r.IntN(6) {
	case 0:
		return write + dir + fmt.Sprintf("mv -f %s '%s'\n", tmp, at)
	case 1:
		return write + dir + fmt.Sprintf("ln -f %s '%s'\n", tmp, at)
	case 2:
		return write + dir + fmt.Sprintf("ln -sfn \"$PWD/%s\" '%s'\n", tmp, at)
	}
	return dir + strings.Replace(write, tmp, at, 1)
}

// tree makes a directory, or a link in its place.
func (g *planner) tree(at string) string {
	if g.r.IntN(5) == 0 {
		return fmt.Sprintf("mkdir -p '%s' x; ln -sfn \"$PWD/x\" '%s'", filepath.Dir(at), at)
	}
	return fmt.Sprintf("mkdir -p '%s'", at)
}

// pieces are the parts of one attack: a git directory of its own, a linked one, or a change of one that was there.
func (g *planner) pieces() []string {
	if g.kind != "none" && g.r.IntN(3) == 0 {
		return g.changes()
	}
	dir := g.pick("e", "e", "sub/.git", "sub", "a/b/e", ".git/modules/m", ".git/modules/m/n/o", ".git/objects/ab",
		".git/x", "node_modules/p/.git", "vendor/e", "e\nf", ".git/worktrees/z", ".")
	tree := g.pick("sub", "sub/deep", "w", "wt", "mod", "inner")
	common := dir
	pieces := []string{g.put(dir+"/HEAD", g.pick("ref: refs/heads/x", "ref: refs/heads/x", "ref:refs/heads/main",
		strings.Repeat("0", 40)))}
	if g.r.IntN(3) == 0 {
		common = g.pick("c", "c", ".git/c", "sub/c")
		to := `$PWD/` + common
		pieces = append(pieces, fmt.Sprintf("mkdir -p '%s'; echo \"%s\" > '%[1]s/commondir'", dir, to))
	}
	pieces = append(pieces, g.tree(common+"/objects"), g.tree(common+"/refs"))
	pieces = append(pieces, g.payload(dir, common, tree)...)
	if filepath.Base(dir) != ".git" {
		leads := fmt.Sprintf("mkdir -p '%s'; rm -rf '%[1]s/.git'; echo \"gitdir: $PWD/%s\" > '%[1]s/.git'", tree, dir)
		if g.r.IntN(3) == 0 {
			leads = fmt.Sprintf("mkdir -p '%s'; rm -rf '%[1]s/.git'; ln -s \"$PWD/%s\" '%[1]s/.git'", tree, dir)
		}
		pieces = append(pieces, leads)
	}
	if g.r.IntN(4) == 0 {
		pieces = append(pieces, g.pick("echo garbage > .git/HEAD", "rm -f .git/HEAD", "mv .git/HEAD .git/HEAD2",
			"chmod 0 .git/objects", "rm -f sub/.git"))
	}
	return pieces
}

// payload names the program in one of the ways that git has.
func (g *planner) payload(dir, common, tree string) []string {
	core := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if g.r.IntN(2) == 0 {
		core += "\tworktree = ../" + tree + "\n"
	}
	hook := "#!/bin/sh\n" + g.pwn
	program := fmt.Sprintf("[core]\n\tfsmonitor = %q\n[diff]\n\texternal = %[1]q\n", g.pwn+";false")
	switch g.r.IntN(6) {
	case 0:
		return []string{g.put(common+"/config", core), g.put(common+"/hooks/post-commit", hook), "chmod +x '" +
			common + "/hooks/post-commit'",
			g.put(common+"/hooks/post-index-change", hook), "chmod +x '" + common + "/hooks/post-index-change'"}
	case 1:
		return []string{g.put(common+"/config", core+"[include]\n\tpath = inc\n"), g.put(common+"/inc", program)}
	case 2:
		return []string{g.put(common+"/config", core+"[extensions]\n\tworktreeConfig = true\n"),
			g.put(dir+"/config.worktree", program)}
	case 3:
		return []string{g.put(common+"/config", core+"\thooksPath = h\n"), g.put(tree+"/h/post-index-change", hook),
			g.put("h/pre-commit", hook), "chmod +x h/* " + tree + "/h/*"}
	}
	return []string{g.put(common+"/config", core+program)}
}

// changes alter what the person's git uses.
func (g *planner) changes() []string {
	program := fmt.Sprintf("[core]\n\tfsmonitor = %q\n", g.pwn+";false")
	hook := "#!/bin/sh\n" + g.pwn
	appended := func(at string) string { return fmt.Sprintf("cat >> '%s' <<'END'\n%s\nEND\n", at, program) }
	all := []string{
		appended("alias"), "cat >> alias <<'END'\n" + g.pwn + "\nEND", appended("team"), g.put("team", program),
		g.put("scripts/post-commit", hook) + "chmod +x scripts/post-commit",
		"cat >> hook <<'END'\n" + g.pwn + "\nEND", "cat >> watch <<'END'\n" + g.pwn + "\nEND", g.put(".git/config",
			program), appended(".git/config"), g.put(".git/hooks/post-commit", hook) + "chmod +x .git/hooks/post-commit",
		"mv .git g; " + appended("g/config") + "mv g .git", "cp -r .git sub/.git; " + appended("sub/.git/config"),
		g.put("sub/team", program), g.put("sub/scripts/post-commit", hook) + "chmod +x sub/scripts/post-commit",
		appended("bare.git/config"), g.put("bare.git/hooks/post-commit", hook), appended("inner/.git/config"),
		"rm -rf inner/.git; cp -r .git inner/.git", "mv inner/.git k; " + appended("k/config") + "mv k inner/.git",
		"rm -f wt/.git; cp -r .git wt/.git; " + appended("wt/.git/config"),
		"mkdir -p c; cp -r .git/objects .git/refs .git/HEAD c/; " + appended("c/config"),
		`echo "$PWD/c" > .git/worktrees/wt/commondir`,
		`rm -f wt/.git; echo "gitdir: $PWD/c" > wt/.git`, `rm -f mod/.git; echo "gitdir: $PWD/c" > mod/.git`,
		"rm -rf wt/.git; ln -s ../c wt/.git", "rm -f .git/worktrees/wt/commondir; cp -r c/* .git/worktrees/wt/",
		appended(".git/modules/mod/config"), g.put(".git/modules/mod/hooks/post-commit", hook),
		"mv .git/modules/mod q; " + appended("q/config") + "mv q .git/modules/mod", "mv mod m2; mv m2 mod",
		"printf '[extensions]\\n\\tworktreeConfig = true\\n' >> .git/config; " + appended(".git/config.worktree"),
		"git worktree add -q w2; " + appended(".git/worktrees/w2/config.worktree"), "git init -q n; " +
			appended("n/.git/config"),
		`mkdir -p w; echo "gitdir: $PWD/.git" > w/.git; cp -r scripts watch w/; ` + "cat >> w/watch <<'END'\n" +
			g.pwn + "\nEND", "git config core.fsmonitor '" + g.pwn + ";false'", "git submodule update --init",
		g.rebase(g.pick(".git", ".git/worktrees/wt", "inner/.git", ".git/modules/mod", "bare.git")),
	}
	var some []string
	for range 2 + g.r.IntN(6) {
		some = append(some, all[g.r.IntN(len(all))])
	}
	return some
}

// rebase leaves a rebase that has begun in a git directory; continued, it executes the program.
func (g *planner) rebase(git string) string {
	todo := g.put(git+"/rebase-merge/git-rebase-todo", g.pick("exec ", "x ", " x\t")+g.pwn)
	return todo + fmt.Sprintf("cd %s/rebase-merge; echo refs/heads/t > head-name; touch interactive; "+
		"for f in onto orig-head; do git --git-dir .. rev-parse HEAD > $f; done", git)
}

// noise is something that a run does besides.
func (g *planner) noise() string {
	return g.pick("touch e sub", "mv sub sub2; mv sub2 sub", "rm -rf x", "chmod 700 e sub", "rm -f sub/.git",
		"git status", "echo more >> f", "mv e e2; mv e2 e", "rm -f HEAD", "chmod -R a+rX .", "mkdir -p sub/deep w",
		"ln -f f f2")
}
