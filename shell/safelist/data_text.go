package safelist

// textEntries are the filters: they read files or their input and print.
var textEntries = []Entry{
	{
		Name: "cat", Open: true, Manual: "coreutils 9.1 cat(1)",
		Options: "-A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t -T,--show-tabs " +
			"-u -v,--show-nonprinting --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass:   []string{"cat README.md", "cat a b", "cat -n main.go", "cat *.md", "cat -- -n"},
		Refuse: []string{"cat --show", "cat -x a", "cat $file"},
	},
	{
		Name: "tac", Open: true, Manual: "coreutils 9.1 tac(1)",
		Options:  "-b,--before -r,--regex -s,--separator=TEXT --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"tac log.txt"}, Refuse: []string{"tac -x log.txt"},
	},
	{
		Name: "head", Open: true, Manual: "coreutils 9.1 head(1)",
		Options:  "-NUM -c,--bytes=NUM -n,--lines=NUM -q,--quiet,--silent -v,--verbose -z,--zero-terminated --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"head -n 20 go.mod", "head -5", "head -c 100 a", "head --lines=3 a b", "head -n -5 a",
			"head -20 src/*.go"},
		Refuse: []string{"head -n x a", "head -n", "head --line=3 a"},
	},
	{
		Name: "tail", Open: true, Manual: "coreutils 9.1 tail(1)",
		Options: "-NUM -c,--bytes=NUM -f -F --follow[=TEXT] -n,--lines=NUM --max-unchanged-stats=NUM --pid=NUM " +
			"-q,--quiet,--silent --retry -s,--sleep-interval=NUM -v,--verbose -z,--zero-terminated --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass:   []string{"tail -n 50 daemon.log", "tail -3", "tail -n +2 list.csv", "tail -F app.log"},
		Refuse: []string{"tail --out=x a", "tail -n $N a"},
	},
	{
		Name: "wc", Open: true, Manual: "coreutils 9.1 wc(1)",
		Options:  "-c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words --total=TEXT --help --version",
		Never:    map[string]string{"--files0-from": "reads and prints the names in any file"},
		Operands: "PATH...", Globs: globAny,
		Pass:   []string{"wc -l", "wc -l *.go", "wc -lw a b", "wc -c < README.md"},
		Refuse: []string{"wc --files0-from=/root/.ssh/id_rsa", "wc --files0-from list"},
	},
	{
		Name: "nl", Open: true, Manual: "coreutils 9.1 nl(1)",
		Options: "-b,--body-numbering=TEXT -d,--section-delimiter=TEXT -f,--footer-numbering=TEXT " +
			"-h,--header-numbering=TEXT -i,--line-increment=NUM -l,--join-blank-lines=NUM -n,--number-format=TEXT " +
			"-p,--no-renumber -s,--number-separator=TEXT -v,--starting-line-number=NUM -w,--number-width=NUM --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"nl -ba main.go", "nl main.go"}, Refuse: []string{"nl --out=x main.go"},
	},
	{
		Name: "od", Open: true, Manual: "coreutils 9.1 od(1)",
		Options: "-A,--address-radix=TEXT -j,--skip-bytes=TEXT -N,--read-bytes=TEXT -t,--format=TEXT " +
			"-v,--output-duplicates -w,--width[=NUM] -S,--strings[=NUM] -a -b -c -d -f -i -l -o -s -x --endian=TEXT --help " +
			"--version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"od -c a", "od -A x -t x1z -v a"}, Refuse: []string{"od --unknown a"},
	},
	{
		Name: "hexdump", Manual: "util-linux 2.38 hexdump(1)",
		Options: "-b,--one-byte-octal -c,--one-byte-char -C,--canonical -d,--two-bytes-decimal -o,--two-bytes-octal " +
			"-x,--two-bytes-hex -n,--length=TEXT -s,--skip=TEXT -v,--no-squeezing -L,--color[=TEXT]",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"hexdump -C a.bin", "hexdump -n 64 -C a.bin"}, Refuse: []string{"hexdump -f fmt a.bin"},
	},
	{
		Name: "xxd", Manual: "xxd(1) of vim 9.0",
		Options: "-a,-autoskip -b,-bits -c,-cols=NUM -d -e -E -g,-groupsize=NUM -h -i,-include -l,-len=TEXT -n,-name=TEXT " +
			"-p,-ps,-plain -s,-skip,-seek=TEXT -u,-uppercase -v",
		Never:    map[string]string{"-r": "turns a dump into a file"},
		Operands: "PATH", Check: checkXXD,
		Pass:   []string{"xxd a.bin", "xxd -l 64 a.bin", "xxd -l64 -c 8 a.bin", "xxd -ps a.bin", "xxd -p -u a.bin"},
		Refuse: []string{"xxd README.md /tmp/pwn", "xxd -r dump", "xxd a*", "xxd -ac 5 /tmp/pwn", "xxd -pl 5 /tmp/pwn"},
	},
	{
		Name: "strings", Manual: "binutils 2.40 strings(1)",
		Options: "-NUM -a,--all -d,--data -f,--print-file-name -n,--bytes=NUM -t,--radix=TEXT -o " +
			"-w,--include-all-whitespace -s,--output-separator=TEXT -e,--encoding=TEXT --help",
		Operands: "PATH...", Globs: globRooted, Check: checkResponse,
		Pass:   []string{"strings -n 8 a.out", "strings a.out"},
		Refuse: []string{"strings @opts", "strings *", "strings --target=x a.out"},
	},
	{
		Name: "cut", Open: true, Manual: "coreutils 9.1 cut(1)",
		Options: "-b,--bytes=TEXT -c,--characters=TEXT -d,--delimiter=TEXT -f,--fields=TEXT -n --complement " +
			"-s,--only-delimited --output-delimiter=TEXT -z,--zero-terminated --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"cut -d: -f1 list.txt", "cut -c1-80", "cut -d ' ' -f 2-"}, Refuse: []string{"cut --output=x a"},
	},
	{
		Name: "paste", Manual: "coreutils 9.1 paste(1)",
		Options:  "-d,--delimiters=TEXT -s,--serial -z,--zero-terminated --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"paste -sd, a", "paste a b"}, Refuse: []string{"paste -o x a"},
	},
	{
		Name: "join", Manual: "coreutils 9.1 join(1)",
		Options: "-1=NUM -2=NUM -a=NUM -e=TEXT -i,--ignore-case -j=NUM -o=TEXT -t=TEXT -v=NUM --check-order " +
			"--nocheck-order --header -z,--zero-terminated --help --version",
		Operands: "PATH PATH",
		Pass:     []string{"join -t, a b", "join -1 2 -2 1 a b"}, Refuse: []string{"join a b c"},
	},
	{
		Name: "comm", Manual: "coreutils 9.1 comm(1)",
		Options: "-1 -2 -3 --check-order --nocheck-order --output-delimiter=TEXT --total -z,--zero-terminated --help " +
			"--version",
		Operands: "PATH PATH",
		Pass:     []string{"comm -12 a b"}, Refuse: []string{"comm a b c", "comm -4 a b"},
	},
	{
		Name: "tr", Open: true, Manual: "coreutils 9.1 tr(1)",
		Options:  "-c,-C,--complement -d,--delete -s,--squeeze-repeats -t,--truncate-set1 --help --version",
		Operands: "TEXT TEXT", Least: 1,
		Pass: []string{"tr a-z A-Z", "tr -d '\\n'", "tr -s ' '"}, Refuse: []string{"tr", "tr a b c", "tr *"},
	},
	{
		Name: "fold", Open: true, Manual: "coreutils 9.1 fold(1)",
		Options:  "-b,--bytes -s,--spaces -w,--width=NUM --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"fold -s -w 80 a"}, Refuse: []string{"fold -x a"},
	},
	{
		Name: "fmt", Manual: "coreutils 9.1 fmt(1)",
		Options: "-c,--crown-margin -p,--prefix=TEXT -s,--split-only -t,--tagged-paragraph -u,--uniform-spacing " +
			"-w,--width=NUM -g,--goal=NUM --help --version",
		Operands: "PATH...",
		Pass:     []string{"fmt -w 72 a"}, Refuse: []string{"fmt -i a"},
	},
	{
		Name: "expand", Manual: "coreutils 9.1 expand(1)",
		Options:  "-i,--initial -t,--tabs=TEXT --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"expand -t 4 a"}, Refuse: []string{"expand -o x a"},
	},
	{
		Name: "unexpand", Manual: "coreutils 9.1 unexpand(1)",
		Options:  "-a,--all --first-only -t,--tabs=TEXT --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"unexpand -a a"}, Refuse: []string{"unexpand -o x a"},
	},
	{
		Name: "column", Manual: "util-linux 2.38 column(1)",
		Options: "-t,--table -N,--table-columns=TEXT -s,--separator=TEXT -o,--output-separator=TEXT -c,--output-width=NUM " +
			"-x,--fillrows -R,--table-right=TEXT -J,--json -n,--table-name=TEXT -e,--table-header-repeat " +
			"-d,--table-noheadings -W,--table-wrap=TEXT",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"column -t", "column -t -s, a.csv"}, Refuse: []string{"column --out=x"},
	},
	{
		Name: "rev", Open: true, Manual: "util-linux 2.38 rev(1)", Operands: "PATH...", Globs: globAny,
		Pass: []string{"rev a"}, Refuse: []string{"rev -x a"},
	},
	{
		Name: "seq", Open: true, Manual: "coreutils 9.1 seq(1)",
		Options:  "-f,--format=TEXT -s,--separator=TEXT -w,--equal-width --help --version",
		Operands: "NUM NUM NUM", Least: 1,
		Pass: []string{"seq 1 10", "seq 5", "seq -w 1 2 9"}, Refuse: []string{"seq", "seq a", "seq 1 $N"},
	},
	{
		Name: "sort", Manual: "coreutils 9.1 sort(1)",
		Options: "-b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort " +
			"-i,--ignore-nonprinting -M,--month-sort -h,--human-numeric-sort -n,--numeric-sort -R,--random-sort -r,--reverse " +
			"-V,--version-sort --sort=TEXT -c -C --check[=TEXT] -k,--key=TEXT -m,--merge -s,--stable -S,--buffer-size=TEXT " +
			"-t,--field-separator=TEXT -u,--unique -z,--zero-terminated --parallel=NUM --debug --help --version",
		Never: map[string]string{
			"-o,--output":        "writes its result to a file",
			"--compress-program": "runs a program",
			"-T":                 "writes to a directory of its choice",
			"--files0-from":      "reads and prints the names in any file",
		},
		Operands: "PATH...", Globs: globRooted,
		Pass: []string{"sort go.sum", "sort -rn", "sort -u -k2,2 -t: a", "sort src/*.txt"},
		Refuse: []string{"sort -o /tmp/pwn a", "sort -o/tmp/pwn a", "sort -uo /tmp/pwn a", "sort --output=x a",
			"sort -S 1b --compress-prog ./x a", "sort *", "sort --outp x a"},
	},
	{
		Name: "uniq", Manual: "coreutils 9.1 uniq(1)",
		Options: "-c,--count -d,--repeated -D --all-repeated[=TEXT] -f,--skip-fields=NUM --group[=TEXT] -i,--ignore-case " +
			"-s,--skip-chars=NUM -u,--unique -z,--zero-terminated -w,--check-chars=NUM --help --version",
		Operands: "PATH",
		Pass:     []string{"uniq -c", "uniq README.md", "uniq -d a"},
		Refuse:   []string{"uniq README.md /tmp/pwn", "uniq *.txt", "uniq src/a*"},
	},
	{
		Name: "shuf", Manual: "coreutils 9.1 shuf(1)",
		Options:  "-e,--echo -i,--input-range=TEXT -n,--head-count=NUM -r,--repeat -z,--zero-terminated --help --version",
		Never:    map[string]string{"-o,--output": "writes its result to a file"},
		Operands: "PATH...",
		Pass:     []string{"shuf -n 5 a", "shuf -i 1-10"}, Refuse: []string{"shuf -o x a"},
	},
	{
		Name: "tsort", Manual: "coreutils 9.1 tsort(1)", Operands: "PATH",
		Pass: []string{"tsort deps"}, Refuse: []string{"tsort a b"},
	},
	{
		Name: "base64", Manual: "coreutils 9.1 base64(1)",
		Options:  "-d,--decode -i,--ignore-garbage -w,--wrap=NUM --help --version",
		Operands: "PATH",
		Pass:     []string{"base64 -d a", "base64 -w0 a"}, Refuse: []string{"base64 a b"},
	},
	{
		Name: "base32", Manual: "coreutils 9.1 base32(1)",
		Options:  "-d,--decode -i,--ignore-garbage -w,--wrap=NUM --help --version",
		Operands: "PATH",
		Pass:     []string{"base32 a"}, Refuse: []string{"base32 a b"},
	},
	{
		Name: "cmp", Open: true, Manual: "diffutils 3.8 cmp(1)",
		Options: "-b,--print-bytes -i,--ignore-initial=TEXT -l,--verbose -n,--bytes=NUM -s,--quiet,--silent --help " +
			"-v,--version",
		Operands: "PATH PATH NUM NUM", Least: 1,
		Pass: []string{"cmp a b", "cmp -s a b"}, Refuse: []string{"cmp a b c"},
	},
	{
		Name: "diff", Manual: "diffutils 3.8 diff(1)",
		Options: "--normal -q,--brief -s,--report-identical-files -c -C,--context=NUM -u -U,--unified=NUM -NUM -e,--ed " +
			"-n,--rcs -y,--side-by-side -W,--width=NUM --left-column --suppress-common-lines -p,--show-c-function " +
			"-F,--show-function-line=TEXT --label=TEXT -L=TEXT -t,--expand-tabs -T,--initial-tab --tabsize=NUM " +
			"--suppress-blank-empty -r,--recursive --no-dereference -N,--new-file --unidirectional-new-file " +
			"--ignore-file-name-case --no-ignore-file-name-case -x,--exclude=TEXT -X,--exclude-from=PATH " +
			"-S,--starting-file=TEXT --from-file=PATH --to-file=PATH -i,--ignore-case -E,--ignore-tab-expansion " +
			"-Z,--ignore-trailing-space -b,--ignore-space-change -w,--ignore-all-space -B,--ignore-blank-lines " +
			"-I,--ignore-matching-lines=TEXT -a,--text --strip-trailing-cr --speed-large-files -d,--minimal " +
			"--horizon-lines=NUM --color[=TEXT] --palette=TEXT --help -v,--version",
		Never: map[string]string{"-l,--paginate": "runs pr"},
		// GNU diff takes more than two operands with --from-file only.
		Operands: "PATH...", Least: 1, Check: checkDiff,
		Pass:   []string{"diff -u a.txt b.txt", "diff -r --brief old new", "diff -U3 a b"},
		Refuse: []string{"diff -l a b", "diff --paginate a b", "diff *.txt"},
	},
	{
		Open: true,
		Name: "md5sum", Manual: "coreutils 9.1 md5sum(1)", Options: sumOptions, Operands: "PATH...", Globs: globAny,
		Pass: []string{"md5sum a"}, Refuse: []string{"md5sum -c list"},
	},
	{
		Open: true,
		Name: "sha1sum", Manual: "coreutils 9.1 sha1sum(1)", Options: sumOptions, Operands: "PATH...", Globs: globAny,
		Pass: []string{"sha1sum a b"}, Refuse: []string{"sha1sum --check list"},
	},
	{
		Open: true,
		Name: "sha224sum", Manual: "coreutils 9.1 sha224sum(1)", Options: sumOptions, Operands: "PATH...", Globs: globAny,
		Pass: []string{"sha224sum a"}, Refuse: []string{"sha224sum -c list"},
	},
	{
		Open: true,
		Name: "sha256sum", Manual: "coreutils 9.1 sha256sum(1)", Options: sumOptions, Operands: "PATH...", Globs: globAny,
		Pass: []string{"sha256sum go.sum", "sha256sum *.tar"}, Refuse: []string{"sha256sum -c SHA256SUMS"},
	},
	{
		Open: true,
		Name: "sha384sum", Manual: "coreutils 9.1 sha384sum(1)", Options: sumOptions, Operands: "PATH...", Globs: globAny,
		Pass: []string{"sha384sum a"}, Refuse: []string{"sha384sum -c list"},
	},
	{
		Open: true,
		Name: "sha512sum", Manual: "coreutils 9.1 sha512sum(1)", Options: sumOptions, Operands: "PATH...", Globs: globAny,
		Pass: []string{"sha512sum a"}, Refuse: []string{"sha512sum -c list"},
	},
	{
		Open: true,
		Name: "b2sum", Manual: "coreutils 9.1 b2sum(1)", Options: sumOptions + " -l,--length=NUM", Operands: "PATH...",
		Globs: globAny,
		Pass:  []string{"b2sum a"}, Refuse: []string{"b2sum -c list"},
	},
	{
		Name: "cksum", Open: true, Manual: "coreutils 9.1 cksum(1)",
		Options:  "-a,--algorithm=TEXT --debug --untagged -z,--zero --help --version",
		Operands: "PATH...", Globs: globAny,
		Pass: []string{"cksum a"}, Refuse: []string{"cksum -c list"},
	},
	{
		Name: "sum", Manual: "coreutils 9.1 sum(1)", Options: "-r -s,--sysv --help --version", Operands: "PATH...",
		Globs: globAny,
		Pass:  []string{"sum a"}, Refuse: []string{"sum -x a"},
	},
	{
		Name: "zcat", Manual: "gzip 1.12 zcat(1)", Options: "-f,--force -l -q,--quiet -v --help --version",
		Operands: "PATH...", Globs: globAny,
		Unset: []string{"GZIP"}, Check: checkZcat,
		Pass:   []string{"zcat a.gz", "zcat *.gz", "zcat b.tgz c.Z", "zcat"},
		Refuse: []string{"zcat --suffix=x a", "zcat a", "zcat -f notes", "zcat *"},
	},
}

const sumOptions = "-b,--binary -t,--text --tag -z,--zero --help --version"
