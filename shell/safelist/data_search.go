package safelist

const grepOptions = "-NUM -E,--extended-regexp -F,--fixed-strings -G,--basic-regexp -P,--perl-regexp " +
	"-e,--regexp=TEXT -f,--file=PATH -i,--ignore-case -y --no-ignore-case -v,--invert-match -w,--word-regexp " +
	"-x,--line-regexp -c,--count --color[=TEXT] --colour[=TEXT] -L,--files-without-match -l,--files-with-matches " +
	"-m,--max-count=NUM -o,--only-matching -q,--quiet,--silent -s,--no-messages -b,--byte-offset -H,--with-filename " +
	"-h,--no-filename --label=TEXT -n,--line-number -T,--initial-tab -Z,--null -A,--after-context=NUM " +
	"-B,--before-context=NUM -C,--context=NUM -a,--text --binary-files=TEXT -D,--devices=TEXT -d,--directories=TEXT " +
	"--exclude=TEXT --exclude-from=PATH --exclude-dir=TEXT -I --include=TEXT -r,--recursive -R,--dereference-recursive " +
	"--line-buffered -U,--binary -z,--null-data -u,--unix-byte-offsets --help -V,--version"

// searchEntries are the commands that search text and files.
var searchEntries = []Entry{
	{
		Name: "grep", Open: true, Manual: "GNU grep 3.8 grep(1)", Options: grepOptions,
		Operands: "TEXT PATH...", Unless: "-e --regexp -f --file", Globs: globAny, Check: checkGrep,
		Unset: []string{"GREP_OPTIONS"},
		Pass: []string{"grep foo a", "grep -rn foo src", "grep -rnE 'func (main|init)\\(' --include='*.go' .",
			"grep -n 'a;b && c' notes.txt", "grep -c '\\$(' script.sh", "grep -e a -e b x y", "grep -A3 -B 2 foo a",
			"grep -q foo bar.txt", "grep foo *.go", "grep --color=never -i foo a"},
		Refuse: []string{
			"grep", "grep * a", "grep --inc='*.go' foo a", "grep -X foo a", "grep $PATTERN a", "grep -m x foo a",
		},
	},
	{
		Name: "egrep", Open: true, Manual: "GNU grep 3.8 grep(1)", Options: grepOptions,
		Operands: "TEXT PATH...", Unless: "-e --regexp -f --file", Globs: globAny, Check: checkGrep,
		Unset: []string{"GREP_OPTIONS"},
		Pass:  []string{"egrep -n 'a|b' x"}, Refuse: []string{"egrep"},
	},
	{
		Name: "fgrep", Open: true, Manual: "GNU grep 3.8 grep(1)", Options: grepOptions,
		Operands: "TEXT PATH...", Unless: "-e --regexp -f --file", Globs: globAny, Check: checkGrep,
		Unset: []string{"GREP_OPTIONS"},
		Pass:  []string{"fgrep -n foo x"}, Refuse: []string{"fgrep"},
	},
	{
		Name: "rg", Manual: "ripgrep 14.1 rg(1)",
		Options: "-NUM -A,--after-context=NUM -B,--before-context=NUM -C,--context=NUM --auto-hybrid-regex --binary " +
			"--block-buffered -b,--byte-offset -s,--case-sensitive --color=TEXT --colors=TEXT --column " +
			"--context-separator=TEXT -c,--count --count-matches --crlf --debug -E,--encoding=TEXT --engine=TEXT " +
			"--field-context-separator=TEXT --field-match-separator=TEXT -f,--file=PATH --files -l,--files-with-matches " +
			"--files-without-match -F,--fixed-strings -L,--follow -g,--glob=TEXT --glob-case-insensitive --heading " +
			"--no-heading -h,--help --hidden -. --iglob=TEXT -i,--ignore-case --ignore-file=PATH " +
			"--ignore-file-case-insensitive --include-zero -v,--invert-match --json --line-buffered -n,--line-number " +
			"-N,--no-line-number -x,--line-regexp -M,--max-columns=NUM --max-columns-preview -m,--max-count=NUM " +
			"-d,--max-depth,--maxdepth=NUM --max-filesize=NUM --mmap --no-mmap -U,--multiline --multiline-dotall --no-config " +
			"--no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages " +
			"--no-ignore-parent --no-ignore-vcs --no-messages --no-require-git --no-unicode -0,--null --null-data " +
			"--one-file-system -o,--only-matching --passthru --path-separator=TEXT -P,--pcre2 --pcre2-version -p,--pretty " +
			"-q,--quiet --regex-size-limit=NUM -e,--regexp=TEXT -r,--replace=TEXT -S,--smart-case --sort=TEXT --sortr=TEXT " +
			"--stats --stop-on-nonmatch -a,--text -j,--threads=NUM --trace --trim -t,--type=TEXT -T,--type-not=TEXT " +
			"--type-list -u,--unrestricted -V,--version --vimgrep -H,--with-filename -I,--no-filename -w,--word-regexp",
		Never: map[string]string{
			"--pre":           "runs a program for every file",
			"--hostname-bin":  "runs a program",
			"-z,--search-zip": "runs decompression programs",
			"--generate":      "is not for searching",
		},
		Operands: "TEXT PATH...", Unless: "-e --regexp -f --file --files --type-list", Globs: globRooted, Here: true,
		Check: checkRecursive("-L", "--follow"),
		Unset: []string{"RIPGREP_CONFIG_PATH"},
		Pass: []string{"rg -n 'TODO' internal", "rg --files -g '*.go'", "rg foo", "rg -t go -l foo src", "rg -A 3 foo",
			"rg -e -x src", "rg foo src/*.go", "rg -uu foo"},
		Refuse: []string{"rg --pre ./x foo", "rg --pre=./x foo", "rg --hostname-bin ./x --hyperlink-format default foo",
			"rg -z foo", "rg -nz foo", "rg --engine --pre=./x foo", "rg -g --pre=./x foo", "rg TODO *"},
	},
	{
		Name: "fd", Manual: "fd 9.0 fd(1)", Options: fdOptions, Never: fdNever,
		Operands: "TEXT PATH...", Globs: globRooted, Here: true, Check: checkRecursive("-L", "--follow"),
		Pass:   []string{"fd foo", "fd -e go", "fd -t f foo src"},
		Refuse: []string{"fd -x rm", "fd -X rm", "fd -l foo", "fd foo *"},
	},
	{
		Name: "fdfind", Manual: "fd 9.0 fd(1)", Options: fdOptions, Never: fdNever,
		Operands: "TEXT PATH...", Globs: globRooted, Here: true, Check: checkRecursive("-L", "--follow"),
		Pass: []string{"fdfind -e go foo"}, Refuse: []string{"fdfind foo --exec rm"},
	},
	{
		Name: "find", Manual: "findutils 4.9 find(1)", Raw: true, Globs: globRooted, Check: checkFind,
		Pass: []string{
			"find . -name '*.go'", "find . -type f -name '*.md' -not -path './vendor/*'", "find internal -maxdepth 2 -type d",
			"find", "find src/* -name x", "find . \\( -name a -o -name b \\) -print0",
			"find . -newer go.mod -size +10k -printf '%p\\n'", "find -L . -name x",
			"find . -name node_modules -prune -o -type f -print", "find . ! -name x -mtime -1",
		},
		Refuse: []string{
			"find . -exec touch x \\;", "find . -execdir touch x ';'", "find . -ok rm {} \\;", "find . -okdir rm {} \\;",
			"find . -delete", "find . -fprintf /tmp/pwn '%p\\n'", "find . -fls x", "find . -fprint x", "find . -fprint0 x",
			"find . \"-ex\"ec touch x ';'", "find * -name x", "find . -files0-from x", "find . -unknown", "find . -name",
			"find . -D exec", "find . -name *.go",
		},
	},
	{
		Name: "tree", Manual: "tree 2.1 tree(1)",
		Options: "-a -d -l -f -x -L=NUM -P=TEXT -I=TEXT --gitignore --ignore-case --matchdirs --metafirst --prune " +
			"--noreport --filelimit=NUM --timefmt=TEXT -q -N -Q -p -u -g -s -h --si -D -F -i -A -S -n -C -v -t -c -U -r " +
			"--dirsfirst --filesfirst --sort[=TEXT] -J -X --inodes --device --du --help --version",
		Never:    map[string]string{"-o": "writes its result to a file", "-R": "writes a file into every directory"},
		Operands: "PATH...", Globs: globAny, Here: true, Check: checkTree,
		Pass: []string{"tree", "tree -L 2 internal", "tree -L2", "tree -aL 2", "tree -a -I 'node_modules|.git'",
			"tree --filelimit=9"},
		Refuse: []string{"tree -o /tmp/pwn", "tree -R -L 1", "tree -Po x pwn", "tree -Io x pwn", "tree -aPo x pwn",
			"tree -PR x"},
	},
	{
		Name: "jq", Manual: "jq 1.6 jq(1)", Raw: true, Check: checkJQ,
		Pass: []string{"jq .", "jq '.version' package.json", "jq -r '.a[] | select(.b > 1)' x.json",
			"jq -n --arg a b '{a: $a}'", "jq --indent 2 . x.json", "jq -rc '.scripts | keys' package.json", "jq .env a.json",
			"jq '.[\"env\"].environment' a.json", "jq '.a.env_x, .envs' a"},
		Refuse: []string{"jq -f prog x.json", "jq 'import \"a\" as a; a::b' x", "jq -L dir . x", "jq 'include \"x\"; .' a",
			"jq --from-file p x", "jq", "jq . *.json", "jq -n env", "jq -n '$ENV.PATH'", "jq -n 'env|keys'",
			"jq -n '\"\\(env)\"'", "jq -n '[env][0]'", "jq -n '{a:env}'", "jq '\"x\"|modulemeta' a"},
	},
	{
		Name: "sed", Manual: "GNU sed 4.9 sed(1)",
		Options: "-n,--quiet,--silent --debug -e,--expression=TEXT -E,-r,--regexp-extended -l,--line-length=NUM --posix " +
			"-s,--separate -u,--unbuffered -z,--null-data --sandbox --help --version",
		Never: map[string]string{
			"-i,--in-place":     "edits the file",
			"-f,--file":         "takes its commands from a file",
			"--follow-symlinks": "belongs to editing in place",
		},
		Operands: "TEXT PATH...", Unless: "-e --expression", Globs: globAny, Check: checkSed,
		Pass: []string{
			"sed -n '10,40p' main.go", "sed -n '1,5p'", "sed 's/a/b/g' x", "sed -n '/start/,/end/p' x", "sed '$d' x",
			"sed -e 's/a/b/' -e '1d' x", "sed 's|/a|/b|; s/x/y/2' x", "sed -n '5p;10q' x", "sed '/^#/d' x", "sed -n '$=' x",
			"sed 's/[/]/x/' a", "sed -E 's/(a|b)/\\1/' x", "sed '1,3{s/a/b/;p}' x", "sed y/abc/xyz/ a",
			"sed 's/[[:space:]]*$//' x", "sed -E 's/^[^[:alnum:]_-]+|[[:punct:]]//g' x", "sed '3a\\    w x' y",
			"sed '1i w x;e' y", "sed '/a/c w x' y", "sed 's/[[:alpha:]/]/x/' a", "sed -n '/[[:upper:]]/p' x",
			"sed 's/[^]]//; s/[]x]//' a",
		},
		Refuse: []string{
			"sed -i s/a/b/ x", "sed -n '1e touch /tmp/pwn' x", "sed 's/.*/touch x/e' x", "sed -n 'w /tmp/pwn' x",
			"sed 's/a/b/w /tmp/pwn' x", "sed -f s x", "sed -i.bak s/a/b/ x", "sed 'r /etc/passwd' x", "sed 'R x' y",
			"sed '1W x' y", "sed e", "sed 's/a/b/ge' x", "sed --in-place s/a/b/ x", "sed -ni p x", "sed '/a/w x' y",
			"sed 's/a/b/;e' x", "sed 's/a\\/e' x", "sed 's/[[:alpha:]/]/g;s/e;/x/p' x", "sed 's/[\\[:alpha:]/]/g;s/e;/x/p' x",
			"sed 's/[[.-.]/]/g;s/e;/x/p' x", "sed 's/[[=a=]/]/g;s/e;/x/p' x", "sed '/[[:alpha:]/]/s/e;/x/p' x",
			"sed -n '/[[:alpha:]/],/w x/p' a", "sed 's/[[:alpha:/:]]/x/' a", "sed '1a b\nw /tmp/pwn' x", "sed '1a b\\' x",
			"sed -e 'a\\' -e 'w /tmp/pwn' x", "sed '1{a b}' x", "sed 1a x",
		},
	},
	{
		Name: "awk", Manual: "POSIX awk(1), gawk 5.2, mawk 1.3", Raw: true, Check: checkAWK, Unset: awkUnset,
		Pass: awkPass, Refuse: awkRefuse("awk"),
	},
	{
		Name: "gawk", Manual: "gawk 5.2 gawk(1)", Raw: true, Check: checkAWK, Unset: awkUnset,
		Pass: []string{"gawk '{print $1}' a"}, Refuse: awkRefuse("gawk"),
	},
	{
		Name: "mawk", Manual: "mawk 1.3.4 mawk(1)", Raw: true, Check: checkAWK, Unset: awkUnset,
		Pass: []string{"mawk '{print $1}' a"}, Refuse: awkRefuse("mawk"),
	},
}

const fdOptions = "-H,--hidden -I,--no-ignore --no-ignore-vcs -u,--unrestricted -s,--case-sensitive -i,--ignore-case " +
	"-g,--glob --regex -F,--fixed-strings -a,--absolute-path -L,--follow -p,--full-path -d,--max-depth=NUM " +
	"--min-depth=NUM --exact-depth=NUM -E,--exclude=TEXT --prune -t,--type=TEXT -e,--extension=TEXT -S,--size=TEXT " +
	"--changed-within=TEXT --changed-before=TEXT -o,--owner=TEXT -c,--color=TEXT -j,--threads=NUM --max-results=NUM -1 " +
	"-q,--quiet -0,--print0 --strip-cwd-prefix --one-file-system -h,--help -V,--version"

var fdNever = map[string]string{
	"-x,--exec":         "runs a program for every file",
	"-X,--exec-batch":   "runs a program",
	"-l,--list-details": "runs ls",
}

var awkUnset = []string{"AWKPATH", "AWKLIBPATH", "POSIXLY_CORRECT", "GAWK_READ_TIMEOUT"}

var awkPass = []string{
	"awk '{print $1}' a", "awk -F: '{print $1}' a", "awk 'NR==1' a", "awk 'NR>=10 && NR<=20' a", "awk '$3 > 5' a",
	"awk '/foo/ {print $2}' a", "awk -v n=3 'NR==n' a", "awk '{s+=$1} END {print s}'", "awk -F '\\t' '{print $2}' a b",
	"awk 'length > 80' a", "awk '{print $1 \"|\" $2}' a", "awk '!seen[$0]++' a",
}

func awkRefuse(name string) []string {
	programs := []string{
		`'BEGIN{system("touch x")}'`, `'BEGIN{print "x" > "/tmp/pwn"}'`, `'{print | "sh"}' a`, `'BEGIN{"id" | getline x}'`,
		`'{print >> "x"}' a`,
		`'BEGIN{ARGV[1]="/etc/shadow";ARGC=2}{print}'`, `'@load "x"'`, `-f prog a`,
		`'BEGIN{getline x < "/etc/shadow"; print x}'`, `'BEGIN{printf "x" > "y"}'`,
		`-i x '{print}' a`, `-l x '{print}'`, `'{print $1}' $f`, `'{print "a\"" > "x"}' a`, `'/"/ {print > "x"} /"/' a`, ``,
	}
	out := make([]string, len(programs))
	for i, p := range programs {
		out[i] = name + " " + p
	}
	return out
}
