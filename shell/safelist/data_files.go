package safelist

const lsOptions = "-a,--all -A,--almost-all --author -b,--escape --block-size=TEXT -B,--ignore-backups -c -C " +
	"--color[=TEXT] -d,--directory -D,--dired -f -F --classify[=TEXT] --file-type --format=TEXT --full-time -g " +
	"--group-directories-first -G,--no-group -h,--human-readable --si -H,--dereference-command-line " +
	"--dereference-command-line-symlink-to-dir --hide=TEXT --hyperlink[=TEXT] --indicator-style=TEXT -i,--inode " +
	"-I,--ignore=TEXT -k,--kibibytes -l -L,--dereference -m -n,--numeric-uid-gid -N,--literal -o -p " +
	"-q,--hide-control-chars --show-control-chars -Q,--quote-name --quoting-style=TEXT -r,--reverse -R,--recursive " +
	"-s,--size -S --sort=TEXT --time=TEXT --time-style=TEXT -t -T,--tabsize=NUM -u -U -v -w,--width=NUM -x -X " +
	"-Z,--context --zero -1 --help --version"

// fileEntries are the commands that list or print files and directories.
var fileEntries = []Entry{
	{
		Open: true,
		Name: "ls", Manual: "coreutils 9.1 ls(1)", Options: lsOptions, Operands: "PATH...", Globs: globAny, Here: true,
		Check:  checkRecursive("-L", "--dereference"),
		Pass:   []string{"ls", "ls -la", "ls -la internal cmd", "ls -lhtr --color=never", "ls *.go", "ls -R src", "ls -- -x"},
		Refuse: []string{"ls --colour", "ls -J", "ls $DIR"},
	},
	{
		Name: "ll", Manual: "an alias of interactive shells for ls -l", Options: lsOptions, Operands: "PATH...",
		Globs: globAny, Here: true, Alias: true, Check: checkRecursive("-L", "--dereference"),
		Pass: []string{"ll", "ll src"}, Refuse: []string{"ll -J"},
	},
	{
		Name: "la", Manual: "an alias of interactive shells for ls -A", Options: lsOptions, Operands: "PATH...",
		Globs: globAny, Here: true, Alias: true, Check: checkRecursive("-L", "--dereference"),
		Pass: []string{"la", "la src"}, Refuse: []string{"la -J"},
	},
	{
		Name: "dir", Manual: "coreutils 9.1 dir(1)", Options: lsOptions, Operands: "PATH...", Globs: globAny, Here: true,
		Check: checkRecursive("-L", "--dereference"),
		Pass:  []string{"dir"}, Refuse: []string{"dir -J"},
	},
	{
		Name: "vdir", Manual: "coreutils 9.1 vdir(1)", Options: lsOptions, Operands: "PATH...", Globs: globAny, Here: true,
		Check: checkRecursive("-L", "--dereference"),
		Pass:  []string{"vdir"}, Refuse: []string{"vdir -J"},
	},
	{
		Name: "stat", Open: true, Manual: "coreutils 9.1 stat(1)",
		Options: "-L,--dereference -f,--file-system --cached=TEXT -c,--format=TEXT --printf=TEXT -t,--terse --help " +
			"--version",
		Operands: "PATH...", Globs: globAny, Least: 1,
		Pass: []string{"stat -c '%s %n' go.mod", "stat a b"}, Refuse: []string{"stat", "stat -x a"},
	},
	{
		Name: "file", Manual: "file 5.44 file(1)",
		Options: "-b,--brief -e,--exclude=TEXT -F,--separator=TEXT -h,--no-dereference -i,--mime --mime-type " +
			"--mime-encoding -k,--keep-going -l,--list -L,--dereference -n,--no-buffer -N,--no-pad -0,--print0 -r,--raw -E " +
			"--extension -v,--version --help",
		Never: map[string]string{"-C,--compile": "writes magic.mgc", "-m,--magic-file": "reads its rules from a file",
			"-z,-Z,--uncompress": "runs decompression", "-f,--files-from": "prints what is in a file"},
		Operands: "PATH...", Globs: globAny, Least: 1,
		Pass:   []string{"file README.md", "file -b --mime-type a"},
		Refuse: []string{"file -C -m magic", "file -z a", "file -f /etc/shadow"},
	},
	{
		Name: "du", Open: true, Manual: "coreutils 9.1 du(1)",
		Options: "-0,--null -a,--all --apparent-size -B,--block-size=TEXT -b,--bytes -c,--total -D,-H,--dereference-args " +
			"-d,--max-depth=NUM -h,--human-readable --inodes -k -L,--dereference -l,--count-links -m -P,--no-dereference " +
			"-S,--separate-dirs --si -s,--summarize -t,--threshold=NUM --time[=TEXT] --time-style=TEXT --exclude=TEXT " +
			"-X,--exclude-from=PATH -x,--one-file-system --help --version",
		Operands: "PATH...", Globs: globAny, Here: true, Check: checkRecursive("-L", "--dereference"),
		Pass: []string{"du -sh .", "du -h -d1", "du -sh *"}, Refuse: []string{"du --files0-from=x"},
	},
	{
		Name: "df", Manual: "coreutils 9.1 df(1)",
		Options: "-a,--all -B,--block-size=TEXT -h,--human-readable -H,--si -i,--inodes -k -l,--local --no-sync " +
			"--output[=TEXT] -P,--portability -t,--type=TEXT -T,--print-type -x,--exclude-type=TEXT --total -v --help --version",
		Never:    map[string]string{"--sync": "writes out what is cached"},
		Operands: "PATH...",
		Pass:     []string{"df -h", "df ."}, Refuse: []string{"df --sync"},
	},
	{
		Name: "readlink", Open: true, Manual: "coreutils 9.1 readlink(1)",
		Options: "-f,--canonicalize -e,--canonicalize-existing -m,--canonicalize-missing -n,--no-newline -q,--quiet " +
			"-s,--silent -v,--verbose -z,--zero --help --version",
		Operands: "PATH...", Globs: globAny, Least: 1,
		Pass: []string{"readlink -f a"}, Refuse: []string{"readlink", "readlink -x a"},
	},
	{
		Name: "realpath", Open: true, Manual: "coreutils 9.1 realpath(1)",
		Options: "-e,--canonicalize-existing -m,--canonicalize-missing -L,--logical -P,--physical -q,--quiet " +
			"--relative-to=PATH --relative-base=PATH -s,--strip,--no-symlinks -z,--zero --help --version",
		Operands: "PATH...", Globs: globAny, Least: 1,
		Pass: []string{"realpath go.mod", "realpath --relative-to=src a"}, Refuse: []string{"realpath", "realpath -x a"},
	},
	{
		Name: "basename", Open: true, Manual: "coreutils 9.1 basename(1)",
		Options:  "-a,--multiple -s,--suffix=TEXT -z,--zero --help --version",
		Operands: "TEXT...", Least: 1,
		Pass:   []string{"basename internal/policy/policy.go .go", "basename -a a/b c/d"},
		Refuse: []string{"basename", "basename *"},
	},
	{
		Name: "dirname", Open: true, Manual: "coreutils 9.1 dirname(1)",
		Options: "-z,--zero --help --version", Operands: "TEXT...", Least: 1,
		Pass: []string{"dirname a/b"}, Refuse: []string{"dirname"},
	},
	{
		Name: "less", Manual: "less 590 less(1)",
		Options: "-NUM -a -A -c -C -d -e -E -f -F,--quit-if-one-screen -g -G -i,--ignore-case -I,--IGNORE-CASE -J -m -M " +
			"-n,--line-numbers -N,--LINE-NUMBERS -q,--quiet,--silent -Q -r,--raw-control-chars -R,--RAW-CONTROL-CHARS " +
			"-s,--squeeze-blank-lines -S,--chop-long-lines -u -U -w -W -X,--no-init -K -L,--no-lessopen -~,--tilde -h=NUM " +
			"-j=NUM -x=NUM -y=NUM -z=NUM --help --version",
		Never: map[string]string{
			"-o,-O,--log-file,--LOG-FILE": "copies its input to a file",
			"-k,--lesskey-file":           "reads key bindings from a file",
			"-t,-T,--tag":                 "reads a tags file",
		},
		Operands: "PATH...", Globs: globRooted, Check: checkPager,
		// LESSSECURE disables !, |, v, log files and the input preprocessor.
		Env: map[string]string{"LESSSECURE": "1"}, Unset: []string{"LESS", "LESSOPEN", "LESSCLOSE", "LESSEDIT", "LESSKEY",
			"LESSKEYIN", "EDITOR", "VISUAL"},
		Pass:   []string{"less README.md", "less -R a"},
		Refuse: []string{"less -o x a", "less +!touch a", "less ++x a", "less *"},
	},
	{
		Name: "more", Manual: "util-linux 2.38 more(1)",
		Options: "-d,--silent -l,--logical -f,--no-pause -p,--print-over -c,--clean-print -s,--squeeze -u,--plain -e " +
			"-n,--lines=NUM -NUM -h,--help -V,--version",
		Operands: "PATH...", Globs: globRooted, Check: checkPager, Typed: true,
		Unset: []string{"MORE", "EDITOR", "VISUAL"},
		Pass:  []string{"more README.md"}, Refuse: []string{"more +/x a", "more *", "more -x a"},
	},
	{
		Name: "tar", Manual: "GNU tar 1.34 tar(1)", Raw: true, Check: checkTar, Unset: []string{"TAR_OPTIONS", "TAPE"},
		Pass: []string{"tar tf a.tar", "tar -tf a.tar", "tar -tvf a.tar.gz", "tar tzf a.tgz", "tar --list --file=a.tar",
			"tar -tf a.tar dir"},
		Refuse: []string{"tar xf a.tar", "tar -cf a.tar b", "tar tf a.tar --checkpoint-action=exec=sh",
			"tar -tf a.tar -I ./x", "tar tf a.tar --to-command=x", "tar", "tar -t", "tar tf *"},
	},
	{
		Name: "unzip", Manual: "Info-ZIP 6.00 unzip(1)", Raw: true, Check: checkUnzip, Unset: []string{"UNZIP", "UNZIPOPT"},
		Pass: []string{"unzip -l a.zip", "unzip -v a.zip", "unzip -p a.zip b"},
		Refuse: []string{"unzip a.zip", "unzip -o a.zip", "unzip -l a.zip -d x", "unzip -l *", "unzip -p '*.zip'",
			"unzip -p a"},
	},
	{
		Name: "nm", Manual: "binutils 2.40 nm(1)",
		Options: "-a,--debug-syms -A,-o,--print-file-name -C,--demangle[=TEXT] -D,--dynamic -f,--format=TEXT " +
			"-g,--extern-only -j -l,--line-numbers -n,-v,--numeric-sort -p,--no-sort -P,--portability -r,--reverse-sort " +
			"-S,--print-size -s,--print-armap --size-sort -t,--radix=TEXT -u,--undefined-only -U,--defined-only -h,--help " +
			"-V,--version",
		Never:    map[string]string{"--plugin": "loads a library"},
		Operands: "PATH...", Globs: globRooted, Check: checkResponse, Unset: []string{"DEBUGINFOD_URLS"},
		Pass:   []string{"nm -C a.out", "nm -D --defined-only lib.so"},
		Refuse: []string{"nm @opts", "nm *", "nm --plugin x a.out"},
	},
	{
		Name: "readelf", Manual: "binutils 2.40 readelf(1)",
		Options: "-a,--all -h,--file-header -l,--program-headers,--segments -S,--section-headers,--sections " +
			"-g,--section-groups -t,--section-details -e,--headers -s,--syms,--symbols --dyn-syms -n,--notes -r,--relocs " +
			"-u,--unwind -d,--dynamic -V,--version-info -A,--arch-specific -I,--histogram -W,--wide -C,--demangle[=TEXT] " +
			"-x,--hex-dump=TEXT -p,--string-dump=TEXT -H,--help -v,--version",
		Operands: "PATH...", Globs: globRooted, Check: checkResponse, Unset: []string{"DEBUGINFOD_URLS"},
		Pass:   []string{"readelf -h a.out", "readelf -d lib.so"},
		Refuse: []string{"readelf @opts", "readelf *", "readelf -w a.out"},
	},
	{
		Name: "objdump", Manual: "binutils 2.40 objdump(1)",
		Options: "-a,--archive-headers -f,--file-headers -p,--private-headers -h,--section-headers,--headers " +
			"-x,--all-headers -d,--disassemble[=TEXT] -D,--disassemble-all -s,--full-contents -t,--syms -T,--dynamic-syms " +
			"-r,--reloc -R,--dynamic-reloc -j,--section=TEXT -M,--disassembler-options=TEXT -C,--demangle[=TEXT] -w,--wide " +
			"--start-address=TEXT --stop-address=TEXT --no-show-raw-insn -H,--help -V,--version",
		Operands: "PATH...", Globs: globRooted, Check: checkResponse, Unset: []string{"DEBUGINFOD_URLS"},
		Pass:   []string{"objdump -d a.o", "objdump -h a.out"},
		Refuse: []string{"objdump @opts", "objdump *", "objdump --plugin=x a.o", "objdump -S a.o"},
	},
	{
		Name: "size", Manual: "binutils 2.40 size(1)",
		Options:  "-A -B -G -d -o -x -t --format=TEXT --totals --common --help --version",
		Operands: "PATH...", Globs: globRooted, Check: checkResponse,
		Pass: []string{"size a.out"}, Refuse: []string{"size @opts", "size *", "size --plugin x"},
	},
}
