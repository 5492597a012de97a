package safelist

import "strings"

// gitDiffOptions are the common options of git diff, log, show and similar (git 2.39,
// git-diff(1)).
const gitDiffOptions = "-p,-u,--patch -s,--no-patch -U,--unified=NUM --raw --patch-with-raw --indent-heuristic " +
	"--no-indent-heuristic --minimal --patience --histogram --anchored=TEXT --diff-algorithm=TEXT --stat[=TEXT] " +
	"--stat-width=NUM --stat-name-width=NUM --stat-count=NUM --compact-summary --numstat --shortstat -X[=TEXT] " +
	"--dirstat[=TEXT] --cumulative --summary --patch-with-stat -z --name-only --name-status --color[=TEXT] --no-color " +
	"--color-moved[=TEXT] --no-color-moved --color-moved-ws=TEXT --no-color-moved-ws --word-diff[=TEXT] " +
	"--word-diff-regex=TEXT --color-words[=TEXT] --no-renames --rename-empty --no-rename-empty --check " +
	"--ws-error-highlight=TEXT --full-index --binary --abbrev[=NUM] -B[=TEXT] --break-rewrites[=TEXT] -M[=TEXT] " +
	"--find-renames[=TEXT] -C[=TEXT] --find-copies[=TEXT] --find-copies-harder -D,--irreversible-delete -l=NUM " +
	"--diff-filter=TEXT -S=TEXT -G=TEXT --find-object=TEXT --pickaxe-all --pickaxe-regex --skip-to=TEXT " +
	"--rotate-to=TEXT -R -a,--text --ignore-cr-at-eol --ignore-space-at-eol -b,--ignore-space-change " +
	"-w,--ignore-all-space --ignore-blank-lines -I,--ignore-matching-lines=TEXT --inter-hunk-context=NUM " +
	"-W,--function-context --exit-code --quiet --no-ext-diff --no-textconv --src-prefix=TEXT --dst-prefix=TEXT " +
	"--no-prefix --default-prefix --line-prefix=TEXT --ita-invisible-in-index --no-relative --relative[=TEXT]"

// gitLogOptions are the common options of git log, show, rev-list and similar (git-log(1)).
const gitLogOptions = "-NUM -n,--max-count=NUM --skip=NUM --since,--after=TEXT --until,--before=TEXT " +
	"--since-as-filter=TEXT --author,--committer=TEXT --grep-reflog=TEXT --grep=TEXT --all-match --invert-grep " +
	"-i,--regexp-ignore-case --basic-regexp -E,--extended-regexp -F,--fixed-strings -P,--perl-regexp --merges " +
	"--no-merges --min-parents=NUM --max-parents=NUM --first-parent --all --branches[=TEXT] --tags[=TEXT] " +
	"--remotes[=TEXT] --glob=TEXT --exclude=TEXT --reflog --single-worktree --cherry-mark --cherry-pick --left-only " +
	"--right-only --cherry -g,--walk-reflogs --merge --boundary --simplify-by-decoration --full-history --dense " +
	"--sparse --simplify-merges --ancestry-path[=TEXT] --date-order --author-date-order --topo-order --reverse " +
	"--pretty[=TEXT] --format[=TEXT] --abbrev-commit --no-abbrev-commit --oneline --encoding=TEXT --expand-tabs[=NUM] " +
	"--no-expand-tabs --notes[=TEXT] --no-notes --relative-date --date=TEXT --parents --children --left-right --graph " +
	"--no-graph --show-linear-break[=TEXT] --decorate[=TEXT] --no-decorate --decorate-refs=TEXT " +
	"--decorate-refs-exclude=TEXT --source --mailmap --no-mailmap --use-mailmap --log-size --follow --full-diff -L=TEXT " +
	"-c --cc --diff-merges=TEXT --no-diff-merges --combined-all-paths -m -t --count --left-right-count " +
	"--clear-decorations --root"

var gitDiffNever = map[string]string{
	"--ext-diff":       "runs an external diff program",
	"--textconv":       "runs conversion programs",
	"--output":         "writes its result to a file",
	"--no-index":       "reads any file",
	"-O":               "reads an order file",
	"--show-signature": "runs gpg",
	"--submodule":      "runs git in other repositories",
	"--stdin":          "reads which revisions and files to show",
}

const gitListOptions = "--contains=TEXT --no-contains=TEXT --merged=TEXT --no-merged=TEXT --sort=TEXT " +
	"--points-at=TEXT --format=TEXT --color[=TEXT] --no-color --column[=TEXT] --no-column -i,--ignore-case"

// gitEntries are the sub-commands of git that only read. Their operands may be revisions or
// paths; both are judged as paths. The programs that the repository makes them run are judged
// by the caller.
var gitEntries = []Entry{
	{
		Name: "git version", Manual: "git 2.39", Options: "--build-options",
		Pass: []string{"git version", "git --version"}, Refuse: []string{"git version x"},
	},
	{
		Name: "git status", Manual: "git 2.39 git-status(1)",
		Options: "-s,--short -b,--branch --show-stash --porcelain[=TEXT] --long -v,--verbose -u[=TEXT] " +
			"--untracked-files[=TEXT] --ignore-submodules[=TEXT] --ignored[=TEXT] -z --column[=TEXT] --no-column " +
			"--ahead-behind --no-ahead-behind --renames --no-renames --find-renames[=TEXT] --no-lock-index",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"git status", "git status --short --branch", "git status -sb", "git --no-pager status",
			"git -C sub status", "git status -uno"},
		Refuse: []string{"git -c core.fsmonitor=x status", "git --exec-path=/x status", "git --git-dir=/x status",
			"git -p status", "git --config-env=a=b status", "git status --porc"},
	},
	{
		Name: "git diff", Manual: "git 2.39 git-diff(1)", Options: gitDiffOptions +
			" --cached --staged --merge-base -1 -2 -3 -0 --base --ours --theirs --cc -c --combined-all-paths",
		Never:    gitDiffNever,
		Operands: "PATH...", Globs: globAny, Check: gitRevisions,
		Pass: []string{"git diff", "git diff HEAD~1 -- internal/policy.go", "git diff --stat", "git diff --cached",
			"git diff main...HEAD --name-only", "git diff -U5 a b", "git diff -w --word-diff"},
		Refuse: []string{"git diff --ext-diff", "git diff --output=/tmp/pwn HEAD", "git diff --no-index /dev/null x",
			"git diff --textconv", "git diff --outp=x", "git diff --ext"},
	},
	{
		Name: "git log", Manual: "git 2.39 git-log(1)", Options: gitDiffOptions + " " + gitLogOptions, Never: gitDiffNever,
		Operands: "PATH...", Globs: globAny, Check: gitRevisions,
		Pass: []string{"git log", "git log --oneline", "git log -n 5 --format='%h %s (%an)'", "git log -p -2 -- cmd/",
			"git log -5", "git log --since='2 weeks ago' --author=x", "git log --graph --all --decorate",
			"git log -S'foo' --oneline", "git log -L10,20:a.go", "git log -p --diff-merges=first-parent"},
		Refuse: []string{"git log -1 --output /tmp/pwn", "git log --format --output=pwn", "git log --author --output=pwn",
			"git log --show-signature", "git log --format=%G?", "git log --format='%h%+G?'", "git log --pretty='tformat:%-GK'",
			"git log '--format=% GS'", "git log -p --diff-merges=remerge", "git log -p --diff-merges=r", "git -p log"},
	},
	{
		Name: "git show", Manual: "git 2.39 git-show(1)", Options: gitDiffOptions + " " + gitLogOptions, Never: gitDiffNever,
		Operands: "PATH...", Globs: globAny, Check: gitShow,
		Pass: []string{"git show", "git show HEAD:README.md", "git show --stat HEAD~2", "git show abc123 -- a.go"},
		Refuse: []string{"git show --stdin", "git show --tags", "git show --all", "git show --glob=x", "git show --output=x",
			"git show --show-signature", "git show --pretty=%GK"},
	},
	{
		Name: "git whatchanged", Manual: "git 2.39 git-whatchanged(1)", Options: gitDiffOptions + " " + gitLogOptions,
		Never:    gitDiffNever,
		Operands: "PATH...", Check: gitRevisions,
		Pass: []string{"git whatchanged -3"}, Refuse: []string{"git whatchanged --output=x"},
	},
	{
		Name: "git rev-list", Manual: "git 2.39 git-rev-list(1)", Options: gitLogOptions +
			" --objects --objects-edge --no-object-names --header --timestamp --no-commit-header --disk-usage --abbrev[=NUM] " +
			"--quiet", Never: gitDiffNever,
		Operands: "PATH...", Check: gitRevisions,
		Pass: []string{"git rev-list --count HEAD", "git rev-list -n 1 main"},
		Refuse: []string{"git rev-list --output=x HEAD", "git rev-list --decorate-refs --output=x HEAD",
			"git rev-list -L --output=x HEAD"},
	},
	{
		Name: "git reflog", Manual: "git 2.39 git-reflog(1)", Options: gitDiffOptions + " " + gitLogOptions,
		Never:    gitDiffNever,
		Operands: "PATH...", Check: gitReflog,
		Pass: []string{"git reflog", "git reflog -10", "git reflog show main", "git reflog list", "git reflog HEAD",
			"git reflog origin/main"}, Refuse: []string{"git reflog --format --output=pwn", "git reflog expire --all",
			"git reflog delete x", "git reflog drop --all", "git reflog write HEAD a b c"},
	},
	{
		Name: "git shortlog", Manual: "git 2.39 git-shortlog(1)",
		Options: "-n,--numbered -s,--summary -e,--email -c --group=TEXT --all --no-merges --merges --since,--after=TEXT " +
			"--until,--before=TEXT --author=TEXT -NUM -w[=TEXT]",
		Operands: "PATH...", Check: gitRevisions,
		Pass: []string{"git shortlog -sn HEAD"}, Refuse: []string{"git shortlog --output=x",
			"git shortlog '--group=format:%+GS'"},
	},
	{
		Name: "git blame", Manual: "git 2.39 git-blame(1)",
		Options: "-b --root --show-stats -L=TEXT -l -t -S=PATH --reverse --first-parent -p,--porcelain --line-porcelain " +
			"--incremental --encoding=TEXT --date=TEXT --progress --no-progress -M[=TEXT] -C[=TEXT] --ignore-rev=TEXT " +
			"--ignore-revs-file=PATH --color-lines --color-by-age -c --score-debug -f,--show-name -n,--show-number -s " +
			"-e,--show-email -w --abbrev=NUM",
		Never:    map[string]string{"--contents": "reads any file", "--textconv": "runs conversion programs"},
		Operands: "PATH...", Least: 1, Check: gitRevisions,
		Pass:   []string{"git blame -L 10,20 main.go", "git blame HEAD~3 -- a.go"},
		Refuse: []string{"git blame", "git blame --contents=/x a.go"},
	},
	{
		Name: "git annotate", Manual: "git 2.39 git-annotate(1)", Options: "-L=TEXT -l -t -w -M[=TEXT] -C[=TEXT]",
		Operands: "PATH...", Least: 1, Check: gitRevisions,
		Pass: []string{"git annotate a.go"}, Refuse: []string{"git annotate --contents x a"},
	},
	{
		Name: "git branch", Manual: "git 2.39 git-branch(1)", Options: gitListOptions +
			" -a,--all -r,--remotes -v -vv -l,--list --show-current --abbrev=NUM --no-abbrev",
		Operands: "TEXT...", Check: gitLists("--list", "--contains", "--no-contains", "--merged", "--no-merged",
			"--points-at"),
		Pass: []string{"git branch", "git branch -a", "git branch --show-current", "git branch -vv",
			"git branch --list 'feat/*'", "git branch --merged main", "git branch --contains abc"},
		Refuse: []string{"git branch -D main", "git branch newbranch", "git branch -m a b", "git branch -v x",
			"git branch -l x", "git branch --set-upstream-to=a", "git branch -f x y", "git branch --format='%(signature)'"},
	},
	{
		Name: "git tag", Manual: "git 2.39 git-tag(1)", Options: gitListOptions + " -l,--list -n[=NUM]",
		Operands: "TEXT...", Check: gitLists("-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged",
			"--points-at"),
		Pass: []string{"git tag", "git tag -l 'v*'", "git tag --sort=-creatordate", "git tag -n"},
		Refuse: []string{"git tag v1.0", "git tag -d v1", "git tag -v v1", "git tag -a x -m y",
			"git tag --format='%(signature:key)'", "git tag --format='%(*raw)'"},
	},
	{
		Name: "git remote", Manual: "git 2.39 git-remote(1)", Options: "-v,--verbose --all --push", Operands: "TEXT TEXT",
		Check: gitRemote,
		Pass:  []string{"git remote", "git remote -v", "git remote get-url origin"},
		Refuse: []string{"git remote add evil x", "git remote show origin", "git remote update", "git remote rm x",
			"git remote -v update"},
	},
	{
		Name: "git stash", Manual: "git 2.39 git-stash(1)", Options: gitDiffOptions + " " + gitLogOptions,
		Never:    gitDiffNever,
		Operands: "TEXT...", Check: gitFirst("list", "show"),
		Pass: []string{"git stash list", "git stash show -p", "git stash show 'stash@{1}'"},
		Refuse: []string{"git stash", "git stash -u", "git stash pop", "git stash drop", "git stash push -m x",
			"git stash show --output=x"},
	},
	{
		Name: "git worktree", Manual: "git 2.39 git-worktree(1)", Options: "--porcelain -v -z", Operands: "TEXT",
		Check: gitFirst("list"),
		Pass:  []string{"git worktree list"}, Refuse: []string{"git worktree add x", "git worktree prune"},
	},
	{
		Name: "git notes", Manual: "git 2.39 git-notes(1)", Options: "--ref=TEXT", Operands: "TEXT TEXT",
		Check: gitFirst("list", "show"),
		Pass:  []string{"git notes list", "git notes show HEAD"}, Refuse: []string{"git notes", "git notes add x"},
	},
	{
		Name: "git bisect", Manual: "git 2.39 git-bisect(1)", Operands: "TEXT", Check: gitFirst("log"),
		Pass: []string{"git bisect log"}, Refuse: []string{"git bisect start", "git bisect run x"},
	},
	{
		Name: "git config", Manual: "git 2.39 git-config(1)",
		Options: "--get --get-all --local --global --system --show-origin --show-scope --bool --int --path --type=TEXT " +
			"--default=TEXT -z,--null", Operands: "TEXT", Check: checkGitConfig,
		Pass: []string{"git config --get user.name", "git config --get remote.origin.url", "git config user.name",
			"git config --global core.editor"}, Refuse: []string{"git config core.pager x", "git config edit", "git config list",
			"git config http.extraheader", "git config user.name ''", "git config --global user.name x",
			"git config --get-regexp user.", "git config", "git config --get http.extraheader", "git config --list",
			"git config --unset a.b", "git config -e"},
	},
	{
		Name: "git var", Manual: "git 2.39 git-var(1)", Operands: "TEXT", Least: 1,
		Pass: []string{"git var GIT_EDITOR", "git var GIT_AUTHOR_IDENT"}, Refuse: []string{"git var -l", "git var"},
	},
	{
		Name: "git fsck", Manual: "git 2.39 git-fsck(1)",
		Options: "--tags --root --unreachable --cache --reflogs --no-reflogs --full --no-full --strict -v,--verbose " +
			"--dangling --no-dangling --progress --no-progress --connectivity-only --name-objects --no-name-objects",
		Operands: "TEXT...", Never: map[string]string{"--lost-found": "writes what it finds"},
		Pass:   []string{"git fsck", "git fsck --full --strict"},
		Refuse: []string{"git fsck --lost-found", "git fsck --los"},
	},
	{
		Name: "git apply", Manual: "git 2.39 git-apply(1)", Options: "--stat --numstat --summary -p=NUM -z",
		Operands: "PATH...", Check: gitStat,
		Pass: []string{"git apply --stat x.patch", "git apply --numstat -p2 x.patch"},
		Refuse: []string{"git apply x.patch", "git apply --stat --apply x.patch", "git apply --check x.patch",
			"git apply --stat --index x.patch"},
	},
	{
		Name: "git format-patch", Manual: "git 2.39 git-format-patch(1)", Options: gitDiffOptions + " " + gitLogOptions +
			" --stdout -k,--keep-subject -N,--no-numbered --numbered --signoff --start-number=NUM -v,--reroll-count=TEXT " +
			"--subject-prefix=TEXT --rfc --cover-letter --zero-commit --no-signature --signature=TEXT",
		Never: gitDiffNever, Operands: "TEXT...", Check: gitPatches,
		Pass: []string{"git format-patch --stdout HEAD~1", "git format-patch -1 --stdout"},
		Refuse: []string{"git format-patch HEAD~1", "git format-patch --stdout -o x HEAD~1",
			"git format-patch --stdout --output=x",
			"git format-patch --stdout --signature-file=/etc/passwd HEAD~1"},
	},
	{
		Name: "git hash-object", Manual: "git 2.39 git-hash-object(1)",
		Options: "-t=TEXT --no-filters --literally", Operands: "PATH...", Least: 1,
		Never:  map[string]string{"-w": "writes an object"},
		Pass:   []string{"git hash-object README.md", "git hash-object --no-filters a"},
		Refuse: []string{"git hash-object -w a", "git hash-object", "git hash-object --path=x --stdin"},
	},
	{
		Name: "git submodule", Manual: "git 2.39 git-submodule(1)",
		Options: "--cached --quiet", Operands: "TEXT PATH...", Check: gitFirst("status"),
		Pass: []string{"git submodule status", "git submodule status --cached"},
		Refuse: []string{"git submodule", "git submodule status --recursive",
			"git submodule update", "git submodule foreach ls", "git submodule init"},
	},
	{
		Name: "git rev-parse", Manual: "git 2.39 git-rev-parse(1)",
		Options: "--verify -q,--quiet --short[=NUM] --abbrev-ref[=TEXT] --symbolic --symbolic-full-name --all " +
			"--branches[=TEXT] --tags[=TEXT] --remotes[=TEXT] --show-toplevel --show-prefix --show-cdup --git-dir " +
			"--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository " +
			"--is-shallow-repository --show-superproject-working-tree --shared-index-path --show-object-format[=TEXT] " +
			"--revs-only --no-revs --flags --no-flags --default=TEXT --disambiguate=TEXT --git-path=TEXT --path-format=TEXT " +
			"--local-env-vars --sq --not",
		Operands: "TEXT...", Check: gitRevisions,
		Pass: []string{"git rev-parse --abbrev-ref HEAD", "git rev-parse HEAD", "git rev-parse --show-toplevel",
			"git rev-parse --short HEAD"}, Refuse: []string{"git rev-parse --parseopt x", "git rev-parse --unknown"},
	},
	{
		Name: "git ls-files", Manual: "git 2.39 git-ls-files(1)",
		Options: "-c,--cached -d,--deleted -m,--modified -o,--others -i,--ignored -s,--stage --directory " +
			"--no-empty-directory -u,--unmerged -k,--killed -z --deduplicate -x,--exclude=TEXT -X,--exclude-from=PATH " +
			"--exclude-per-directory=TEXT --exclude-standard --error-unmatch --with-tree=TEXT -t -v -f --full-name " +
			"--abbrev[=NUM] --debug --eol --sparse --format=TEXT",
		Operands: "PATH...", Globs: globAny, Check: gitFormats,
		Pass:   []string{"git ls-files", "git ls-files '*.go'", "git ls-files -o --exclude-standard"},
		Refuse: []string{"git ls-files --recurse-submodules", "git ls-files --unknown"},
	},
	{
		Name: "git ls-tree", Manual: "git 2.39 git-ls-tree(1)",
		Options: "-d -r -t -l,--long -z --name-only,--name-status --object-only --abbrev[=NUM] --full-name --full-tree " +
			"--format=TEXT", Operands: "TEXT PATH...", Least: 1, Check: gitFormats,
		Pass: []string{"git ls-tree -r --name-only HEAD"}, Refuse: []string{"git ls-tree"},
	},
	{
		Name: "git cat-file", Manual: "git 2.39 git-cat-file(1)",
		Options: "-t -s -e -p --batch-check[=TEXT] --batch-all-objects --unordered --mailmap", Operands: "TEXT TEXT",
		Never:  map[string]string{"--textconv": "runs conversion programs", "--filters": "runs filter programs"},
		Check:  gitRevisions,
		Pass:   []string{"git cat-file -p HEAD", "git cat-file -t abc", "git cat-file blob HEAD:a"},
		Refuse: []string{"git cat-file --filters HEAD:a", "git cat-file --textconv HEAD:a"},
	},
	{
		Name: "git grep", Manual: "git 2.39 git-grep(1)",
		Options: "-NUM --cached --untracked --exclude-standard --no-exclude-standard -a,--text -i,--ignore-case -I " +
			"--max-depth=NUM -r,--recursive --no-recursive -w,--word-regexp -v,--invert-match -h -H --full-name " +
			"-E,--extended-regexp -G,--basic-regexp -P,--perl-regexp -F,--fixed-strings -n,--line-number --column " +
			"-l,--files-with-matches,--name-only -L,--files-without-match -z,--null -o,--only-matching -c,--count " +
			"--color[=TEXT] --no-color --break --heading -p,--show-function -B,--before-context=NUM -A,--after-context=NUM " +
			"-C,--context=NUM -m,--max-count=NUM -W,--function-context --threads=NUM -f=PATH -e=TEXT --and --or --not " +
			"--all-match -q,--quiet",
		Never: map[string]string{"-O,--open-files-in-pager": "opens what it finds in a program",
			"--no-index": "reads any file", "--textconv": "runs conversion programs",
			"--recurse-submodules": "runs git in other repositories"},
		Operands: "TEXT PATH...", Unless: "-e -f", Globs: globAny, Check: gitRevisions,
		Pass: []string{"git grep foo", "git grep -n 'a b' -- '*.go'", "git grep -e a --and -e b"},
		Refuse: []string{"git grep -O'touch x' foo", "git grep --no-index x /", "git grep --open-files-in-pager=x y",
			"git grep -Ox foo"},
	},
	{
		Name: "git describe", Manual: "git 2.39 git-describe(1)",
		Options: "--dirty[=TEXT] --broken[=TEXT] --all --tags --contains --abbrev=NUM --candidates=NUM --exact-match " +
			"--debug --long --match=TEXT --exclude=TEXT --always --first-parent", Operands: "TEXT...",
		Pass: []string{"git describe --tags --always --dirty"}, Refuse: []string{"git describe --unknown"},
	},
	{
		Name: "git merge-base", Manual: "git 2.39 git-merge-base(1)",
		Options: "-a,--all --octopus --independent --is-ancestor --fork-point", Operands: "TEXT...",
		Pass: []string{"git merge-base main HEAD"}, Refuse: []string{"git merge-base --unknown"},
	},
	{
		Name: "git name-rev", Manual: "git 2.39 git-name-rev(1)",
		Options: "--tags --refs=TEXT --exclude=TEXT --all --name-only --no-undefined --always", Operands: "TEXT...",
		Pass: []string{"git name-rev HEAD"}, Refuse: []string{"git name-rev --x"},
	},
	{
		Name: "git for-each-ref", Manual: "git 2.39 git-for-each-ref(1)", Options: gitListOptions + " --count=NUM",
		Operands: "TEXT...", Check: gitFormats,
		Pass:   []string{"git for-each-ref --format='%(refname:short)' refs/heads", "git for-each-ref --sort -committerdate"},
		Refuse: []string{"git for-each-ref --shell", "git for-each-ref --format='%(signature)'"},
	},
	{
		Name: "git show-ref", Manual: "git 2.39 git-show-ref(1)",
		Options:  "--head --heads --tags -d,--dereference -s,--hash[=NUM] --verify --abbrev[=NUM] -q,--quiet",
		Operands: "TEXT...",
		Pass:     []string{"git show-ref --heads"}, Refuse: []string{"git show-ref --x"},
	},
	{
		Name: "git show-branch", Manual: "git 2.39 git-show-branch(1)",
		Options: "-r,--remotes -a,--all --current --topo-order --date-order --sparse --more=NUM --list --merge-base " +
			"--independent --no-name --sha1-name --topics --color[=TEXT] --no-color", Operands: "TEXT...",
		Pass: []string{"git show-branch"}, Refuse: []string{"git show-branch --x"},
	},
	{
		Name: "git symbolic-ref", Manual: "git 2.39 git-symbolic-ref(1)", Options: "-q,--quiet --short",
		Operands: "TEXT TEXT", Check: checkSymbolicRef,
		Pass:   []string{"git symbolic-ref --short HEAD"},
		Refuse: []string{"git symbolic-ref HEAD refs/heads/x", "git symbolic-ref -d x", "git symbolic-ref"},
	},
	{
		Name: "git diff-tree", Manual: "git 2.39 git-diff-tree(1)", Options: gitDiffOptions +
			" -r -t -m --root --no-commit-id --pretty[=TEXT] --format[=TEXT] --always", Never: gitDiffNever, Operands: "PATH...",
		Check:  gitRevisions,
		Pass:   []string{"git diff-tree --no-commit-id --name-only -r HEAD"},
		Refuse: []string{"git diff-tree --output=x HEAD"},
	},
	{
		Name: "git diff-index", Manual: "git 2.39 git-diff-index(1)", Options: gitDiffOptions + " --cached -m",
		Never: gitDiffNever, Operands: "PATH...", Check: gitRevisions,
		Pass: []string{"git diff-index --quiet HEAD --"}, Refuse: []string{"git diff-index --output=x HEAD"},
	},
	{
		Name: "git diff-files", Manual: "git 2.39 git-diff-files(1)", Options: gitDiffOptions, Never: gitDiffNever,
		Operands: "PATH...", Check: gitRevisions,
		Pass: []string{"git diff-files --quiet"}, Refuse: []string{"git diff-files --output=x"},
	},
	{
		Name: "git range-diff", Manual: "git 2.39 git-range-diff(1)", Options: gitDiffOptions +
			" --creation-factor=NUM --no-dual-color --left-only --right-only", Never: gitDiffNever, Operands: "TEXT...",
		Check: gitRevisions,
		Pass:  []string{"git range-diff main a b"}, Refuse: []string{"git range-diff --output=x a b c"},
	},
	{
		Name: "git cherry", Manual: "git 2.39 git-cherry(1)", Options: "-v --abbrev[=NUM]", Operands: "TEXT TEXT TEXT",
		Pass: []string{"git cherry -v main"}, Refuse: []string{"git cherry --x"},
	},
	{
		Name: "git count-objects", Manual: "git 2.39 git-count-objects(1)", Options: "-v,--verbose -H,--human-readable",
		Pass: []string{"git count-objects -vH"}, Refuse: []string{"git count-objects x"},
	},
	{
		Name: "git check-ignore", Manual: "git 2.39 git-check-ignore(1)",
		Options: "-q,--quiet -v,--verbose --stdin -z -n,--non-matching --no-index", Operands: "PATH...", Globs: globAny,
		Pass: []string{"git check-ignore -v node_modules"}, Refuse: []string{"git check-ignore --x"},
	},
	{
		Name: "git check-attr", Manual: "git 2.39 git-check-attr(1)", Options: "-a,--all --cached -z --stdin",
		Operands: "PATH...",
		Pass:     []string{"git check-attr -a a.go"}, Refuse: []string{"git check-attr --x"},
	},
}

// gitReflog permits showing. Its operand must not look like a sub-command, since new versions
// add some (expire, delete, drop, write).
func gitReflog(u *Use) string {
	if len(u.Operands) > 0 {
		first := u.Operands[0].Text
		if first != "show" && first != "list" && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz-") == "" {
			return "the word " + first + " may be a sub-command that changes something; git reflog show " + first + " can't"
		}
	}
	return gitRevisions(u)
}

func gitRemote(u *Use) string {
	switch {
	case len(u.Operands) == 0:
		return ""
	case len(u.Operands) == 2 && u.Operands[0].Text == "get-url":
		return ""
	}
	return "only listing remotes is on the safe list"
}
