package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The search makes random sequences of runs that try to leave something which git executes outside of the sandbox, and
// then uses git in every directory. Most sequences of a batch share a project, each in a directory of its own, and
// their runs; one in ten has a project of its own, whose root is the repository. Where commands have layers, each
// sequence has one, as a layer lands whole or not, and half as many are played.
//
//	ACCEPTANCE_GIT_SEQUENCES=5000   how many; 104 without
//	ACCEPTANCE_GIT_SEED=7           of the first batch
//	ACCEPTANCE_GIT_ONLY=12          one sequence of that batch
//
// A failure names the seed and the sequence that repeat it. make git-search runs the search at length.

// batch is how many sequences are played together.
const batch = 52

// number reads an environment variable of the search.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// useGit does what gitOutside does in the directories, given as arguments, of sequences: once for each pair of git
// directory and work tree. Submodules are updated where the index has some.
const useGit = `
export GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat GIT_AUTHOR_NAME=P GIT_AUTHOR_EMAIL=p@example.invalid
export GIT_COMMITTER_NAME=P GIT_COMMITTER_EMAIL=p@example.invalid
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=maintenance.auto GIT_CONFIG_VALUE_0=false
for sequence; do
	export GIT_CEILING_DIRECTORIES="${sequence%/*}"
	cd "$sequence" || continue
	chmod -R u+rwX . 2>/dev/null
	declare -A used=()
	while IFS= read -r -d '' d; do
		cd "$sequence/$d" 2>/dev/null || continue
		key=$(git rev-parse --absolute-git-dir --show-toplevel 2>/dev/null) || key+=/$d
		[ "$key" != "/$d" ] && [ -z "${used[$key]}" ] || continue
		used[$key]=1
		git status
		git diff
		git log -1 -p
		git commit --allow-empty -qm person
		[[ $(git ls-files --stage :/) != *160000* ]] || git submodule update --init
		git=${key%%$'\n/'*}
		[ ! -e "$git/rebase-merge" ] && [ ! -e "$git/rebase-apply" ] || git rebase --continue
		[ ! -e "$git/sequencer" ] || git cherry-pick --continue || git revert --continue
	done < <(find . -path '*/objects/??' -prune -o \( -name .git -o -name HEAD -o -name config \) -printf '%h\0' -o \
		-name deep -printf '%p\0'; printf '.\0')
done </dev/null >/dev/null 2>&1; true`

// campaign plays batches as one user.
type campaign struct {
	*actor
	layered   bool
	canaries  string // a directory; git that executes something in a sequence makes a file of the sequence's number
	templates string // holds a directory for each layout
}

func newCampaign(t *testing.T, a *actor, layered bool) *campaign {
	t.Helper()
	c := &campaign{a, layered, filepath.Join(a.dir, "canaries"), filepath.Join(a.dir, "layouts")}
	os.Chmod(a.dir, 0o755)
	a.sh("mkdir " + c.templates + "; cd " + c.templates + layouts)
	t.Cleanup(c.removeOwn)
	c.begin()
	return c
}

// begin starts the daemon.
func (c *campaign) begin() {
	if c.layered {
		c.actor.layered()
	} else {
		c.direct()
	}
}

// removeOwn removes the projects of sequences that have one of their own.
func (c *campaign) removeOwn() {
	c.do(nil, "/bin/bash", "-c", `chmod -R u+rwX "$1"-*; rm -rf "$1"-*`, "bash", c.project)
}

// search plays one batch, or one sequence of it, and reports the sequences of which git executed something.
func (c *campaign) search(t *testing.T, seed uint64, only int) {
	t.Helper()
	c.removeOwn()
	c.sh("chmod -R u+rwX . 2>/dev/null || true; find . -mindepth 1 -delete; rm -rf " + c.canaries + "; mkdir " +
		c.canaries)
	var plans []sequence
	setup := "set -e\nT=" + c.templates + "\n"
	for n := range batch {
		s := plan(rand.New(rand.NewPCG(seed, uint64(n))), c.project, n, fmt.Sprintf("touch %s/%d", c.canaries, n),
			c.layered || n%10 == 9)
		if only < 0 && !(c.layered && n%2 == 1) || n == only {
			plans, setup = append(plans, s), setup+s.setup
		}
	}
	c.script(t, filepath.Join(c.dir, "setup.sh"), setup)
	c.sh("bash " + filepath.Join(c.dir, "setup.sh"))
	r := rand.New(rand.NewPCG(seed, batch))
	beside, killed, at := r.IntN(4) == 0, r.IntN(6), r.IntN(4)
	for run := range 4 {
		c.run(t, plans, run, beside, killed == 0 && run == at)
		if killed == 1 {
			c.kill()
			c.begin()
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	}
	for _, s := range plans { // a daemon that was killed: the next one has looked
		if s.own || killed < 2 && s.n == plans[0].n {
			c.in(s).sbx("run", "-c", "true")
		}
	}
	c.judge(t, seed, plans)
}

func (c *campaign) script(t *testing.T, at, text string) {
	t.Helper()
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// in is the actor in the project of a sequence.
func (c *campaign) in(s sequence) *actor {
	a := *c.actor
	if s.own {
		a.project = s.dir
	}
	return &a
}

// run makes one run of all sequences; beside: two at the same time, each of one half of the steps.
func (c *campaign) run(t *testing.T, plans []sequence, run int, beside, kill bool) {
	shared := [2]string{}
	var runs sync.WaitGroup
	play := func(a *actor, script string) {
		runs.Go(func() {
			r := a.sbx("run", "-c", script)
			held := c.layered && r.code == 126 && strings.Contains(r.err, "it is held")
			if r.code != 0 && !kill && !held {
				t.Errorf("run %d: %v", run, r)
			}
		})
	}
	for _, s := range plans {
		scripts := [2]string{}
		for i, step := range s.runs[run] {
			which := 0
			if beside {
				which = (s.n + i) % 2
			}
			scripts[which] += fmt.Sprintf("( cd %s\n%s\n)\n", s.dir, step)
		}
		for i, script := range scripts {
			if !s.own {
				shared[i] += script
			} else if script != "" {
				play(c.in(s), script+"true")
			}
		}
	}
	for i, script := range shared {
		if script != "" {
			name := filepath.Join(c.project, fmt.Sprintf("run%d.sh", i))
			c.script(t, name, script)
			play(c.actor, "bash "+name+"; true")
		}
	}
	if kill {
		time.Sleep(100 * time.Millisecond)
		c.kill()
	}
	runs.Wait()
	if kill {
		c.begin()
	}
}

// judge does in the directories of all sequences what a person does, and reports the sequences that git executed.
func (c *campaign) judge(t *testing.T, seed uint64, plans []sequence) {
	t.Helper()
	var hands sync.WaitGroup
	for half := range 2 {
		args := []string{"-c", useGit, "bash"}
		for i := half; i < len(plans); i += 2 {
			args = append(args, plans[i].dir)
		}
		hands.Go(func() { c.do(nil, "/bin/bash", args...) })
	}
	hands.Wait()
	for _, s := range plans {
		if _, err := os.Lstat(filepath.Join(c.canaries, strconv.Itoa(s.n))); err == nil {
			t.Errorf("ACCEPTANCE_GIT_SEED=%d ACCEPTANCE_GIT_ONLY=%d (%s): git executed something\nsetup: %s\nruns: %s",
				seed, s.n, s.kind, s.setup, s.describe())
		}
	}
}

// describe lists the steps of the runs.
func (s sequence) describe() string {
	var text []string
	for _, steps := range s.runs {
		if steps != nil {
			text = append(text, strings.Join(steps, "\n-\n"))
		}
	}
	return strings.Join(text, "\n-- the next run\n")
}

// Generated sequences of runs leave nothing that git executes outside of the sandbox. R-OS-03
func TestGitSearch(t *testing.T) {
	t.Parallel()
	sequences, seed := number("ACCEPTANCE_GIT_SEQUENCES", 2*batch), uint64(number("ACCEPTANCE_GIT_SEED", 1))
	only := number("ACCEPTANCE_GIT_ONLY", -1)
	runs := 1
	if os.Geteuid() == 0 {
		runs = len(users(t))
	}
	batches := (sequences + runs*batch - 1) / (runs * batch)
	if only >= 0 {
		batches = 1
	}
	eachKind(t, func(t *testing.T, a *actor, _ func()) {
		t.Parallel()
		begun := time.Now()
		c := newCampaign(t, a, strings.Contains(t.Name(), "layered"))
		for i := range batches {
			c.search(t, seed+uint64(i), only)
			t.Logf("seed %d: %d sequences so far", seed+uint64(i), (i+1)*batch)
		}
		t.Logf("%d sequences from seed %d in %v", batches*batch, seed, time.Since(begun).Round(time.Second))
	})
}
