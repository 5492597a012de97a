package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The search makes random sequences of runs that try to leave something which git executes outside of the sandbox, and
// then uses git in every directory. Several sequences share a project, each in a directory of its own, and their runs.
//
//	ACCEPTANCE_GIT_SEQUENCES=5000   how many; 48 without
//	ACCEPTANCE_GIT_SEED=7           of the first batch; a failure names its own
//
// make git-search runs it at length.

// batch is how many sequences share a project.
const batch = 24

// number reads an environment variable of the search.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// layouts is a shell function for each layout that a person may have before; $1 is the directory.
const layouts = `
set -e
export GIT_AUTHOR_NAME=P GIT_AUTHOR_EMAIL=p@example.invalid GIT_COMMITTER_NAME=P GIT_COMMITTER_EMAIL=p@example.invalid
git init -q T/plain; ( cd T/plain
	echo x > f; mkdir -p sub/deep; echo y > sub/deep/g; git add .; git commit -qm i; rm -f .git/hooks/*.sample )
cp -a T/plain T/nested; ( cd T/nested
	git init -q inner; cd inner; echo z > h; git add .; git commit -qm n; rm -f .git/hooks/*.sample )
cp -a T/plain T/bare; git clone -q --bare T/plain T/bare/bare.git; rm -f T/bare/bare.git/hooks/*.sample
cp -a T/plain T/linked; git -C T/linked worktree add -q wt
cp -a T/plain T/submodule; git clone -q --bare T/plain T/submodule/origin.git; ( cd T/submodule
	git -c protocol.file.allow=always submodule --quiet add ./origin.git mod; git commit -qm m
	rm -f .git/modules/mod/hooks/*.sample )
mkdir -p T/none/sub/deep
`

// layout prepares one directory, with the things of a person's that a run could use.
func layout(r *rand.Rand, at string) (kind, script string) {
	kinds := []string{"plain", "bare", "nested", "linked", "submodule", "none"}
	kind = kinds[r.IntN(len(kinds))]
	script = fmt.Sprintf("cp -a T/%s %s; cd %[2]s\n", kind, at)
	if kind == "linked" {
		script += "echo \"gitdir: $PWD/.git/worktrees/wt\" > wt/.git; echo \"$PWD/wt/.git\" > .git/worktrees/wt/gitdir\n"
	}
	if kind != "none" {
		extras := []string{
			"", "", "ln .git/config alias\n",
			"printf '#!/bin/sh\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; ln .git/hooks/post-commit " +
				"alias\n",
			"git config include.path ../team; touch team\n", "mkdir scripts; git config core.hooksPath scripts\n",
			"printf '#!/bin/sh\\n' > hook; chmod +x hook; ln -s ../../hook .git/hooks/post-commit\n",
			"git config core.fsmonitor ./watch; printf '#!/bin/sh\\nexit 1\\n' > watch; chmod +x watch\n",
		}
		script += extras[r.IntN(len(extras))]
	}
	return kind, script + "cd \"$OLDPWD\"\n"
}

// sequence is a plan of 1 to 4 runs.
type sequence struct {
	kind, setup string
	runs        [4]string
}

// plan makes the sequence number n of a batch; pwn is the command that shows that git executed it.
func plan(r *rand.Rand, n int, pwn string) sequence {
	at := fmt.Sprintf("s%d", n)
	var s sequence
	s.kind, s.setup = layout(r, at)
	g := planner{r: r, pwn: pwn, kind: s.kind}
	pieces := g.pieces()
	if r.IntN(4) > 0 {
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	}
	runs := 1 + r.IntN(4)
	for i, piece := range pieces {
		run := i * runs / len(pieces)
		s.runs[run] += "( " + piece + "\n)\n"
		if r.IntN(6) == 0 {
			s.runs[run] += "( " + g.noise() + "\n)\n"
		}
	}
	for i := range s.runs {
		if r.IntN(8) == 0 && i+1 < runs {
			dir, mode := g.pick("e", "sub", "c", ".git", "wt", "w"), g.pick("0", "111", "311")
			s.runs[i] += fmt.Sprintf("chmod %s %s\n", mode, dir)
			s.runs[i+1] = fmt.Sprintf("chmod 755 %s\n", dir) + s.runs[i+1]
		}
		s.runs[i] = fmt.Sprintf("( cd %s\n%s)\n", at, s.runs[i])
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
	}
	var some []string
	for range 2 + g.r.IntN(6) {
		some = append(some, all[g.r.IntN(len(all))])
	}
	return some
}

// noise is something that a run does besides.
func (g *planner) noise() string {
	return g.pick("touch e sub", "mv sub sub2; mv sub2 sub", "rm -rf x", "chmod 700 e sub", "rm -f sub/.git",
		"git status", "echo more >> f", "mv e e2; mv e2 e", "rm -f HEAD", "chmod -R a+rX .", "mkdir -p sub/deep w",
		"ln -f f f2")
}

// useGit is gitOutside for the directories of one sequence that git may treat apart.
const useGit = `
export GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat GIT_CEILING_DIRECTORIES="$PWD"
cd "$1" || exit
chmod -R u+rwX . 2>/dev/null
find . -type d -print0 | while IFS= read -r -d '' d; do
	[ -e "$d/.git" ] || [ -L "$d/.git" ] || [ -e "$d/HEAD" ] || [ -L "$d/HEAD" ] ||
		[ -e "$d/config" ] || [ "${d##*/}" = deep ] || [ "$d" = . ] || continue
	( cd "$d" || exit
	git status || git rev-parse --git-dir || exit
	git diff
	git log -1 -p
	git -c user.name=P -c user.email=p@example.invalid commit --allow-empty -qm person
	git submodule update --init
	) </dev/null >/dev/null 2>&1
done; true`

// search plays one batch and reports the sequences of which git executed something.
func (a *actor) search(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	canaries := filepath.Join(a.dir, "canaries")
	a.sh("chmod -R u+rwX . 2>/dev/null || true; find . -mindepth 1 -delete; rm -rf " + canaries + "; mkdir " + canaries)
	var plans []sequence
	setup := layouts
	for n := range batch {
		s := plan(r, n, fmt.Sprintf("touch %s/%d", canaries, n))
		plans, setup = append(plans, s), setup+s.setup
	}
	if err := os.WriteFile(filepath.Join(a.dir, "setup.sh"), []byte(setup), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Chmod(a.dir, 0o755)
	a.sh("bash " + filepath.Join(a.dir, "setup.sh"))
	beside, killed := r.IntN(4) == 0, r.IntN(4)
	for run := range 4 {
		a.searchRun(t, plans, run, beside, killed == 0 && run == r.IntN(4))
		if killed == 1 {
			a.kill()
			a.approveAll()
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	}
	a.sbx("run", "-c", "true") // a daemon that was killed: the next one has looked
	a.useGit(t, seed, plans, canaries)
}

// searchRun makes one run of all sequences; beside: two at the same time, each of one half of the steps.
func (a *actor) searchRun(t *testing.T, plans []sequence, run int, beside, kill bool) {
	scripts := []string{"", ""}
	for n, s := range plans {
		which := 0
		if beside {
			which = n % 2
			lines := strings.SplitAfter(s.runs[run], "\n)\n")
			for i, line := range lines {
				line = strings.TrimPrefix(line, fmt.Sprintf("( cd s%d\n", n))
				if strings.HasPrefix(line, ")") {
					continue // the end of the sequence's own
				}
				scripts[(n+i)%2] += fmt.Sprintf("( cd s%d\n%s)\n", n, line)
			}
			continue
		}
		scripts[which] += s.runs[run]
	}
	var runs sync.WaitGroup
	for i, script := range scripts {
		if script == "" {
			continue
		}
		name := fmt.Sprintf("run%d.sh", i)
		if err := os.WriteFile(filepath.Join(a.project, name), []byte(script+"true\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		runs.Go(func() {
			if r := a.sbx("run", "--", "bash", name); r.code != 0 && !kill {
				t.Errorf("run %d: %v", run, r)
			}
		})
	}
	if kill {
		time.Sleep(100 * time.Millisecond)
		a.kill()
	}
	runs.Wait()
	if kill {
		a.approveAll()
	}
}

// useGit does in the directory of each sequence what a person does.
func (a *actor) useGit(t *testing.T, seed uint64, plans []sequence, canaries string) {
	t.Helper()
	for n, s := range plans {
		a.do(nil, "/bin/bash", "-c", useGit, "bash", fmt.Sprintf("s%d", n))
		if _, err := os.Lstat(filepath.Join(canaries, strconv.Itoa(n))); err == nil {
			t.Errorf("ACCEPTANCE_GIT_SEED=%d, sequence %d (%s): git executed something\nsetup: %s\nruns: %s", seed, n,
				s.kind, s.setup,
				strings.Join(slices.DeleteFunc(slices.Clone(s.runs[:]), func(run string) bool {
					return strings.Count(run,
						"\n") < 3
				}), "--\n"))
		}
	}
}

// Generated sequences of runs leave nothing that git executes outside of the sandbox. R-OS-03
func TestGitSearch(t *testing.T) {
	sequences, seed := number("ACCEPTANCE_GIT_SEQUENCES", 2*batch), uint64(number("ACCEPTANCE_GIT_SEED", 1))
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAll()
		users := 2
		if os.Geteuid() != 0 {
			users = 1
		}
		begun := time.Now()
		for i := range max(1, sequences/batch/users) {
			a.search(t, seed+uint64(i))
		}
		t.Logf("%d sequences from seed %d in %v", max(1, sequences/batch/users)*batch, seed,
			time.Since(begun).Round(time.Second))
	})
}
