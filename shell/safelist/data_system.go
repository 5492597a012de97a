package safelist

import "strings"

// systemEntries are the commands that print the state of the system, the shell or the time.
var systemEntries = []Entry{
	{
		Name: "pwd", Manual: "bash 5.2 pwd", Options: "-L -P", Builtin: true,
		Pass: []string{"pwd", "pwd -P"}, Refuse: []string{"pwd -x", "pwd a"},
	},
	{
		Name: "cd", Manual: "bash 5.2 cd", Options: "-L -P -e", Operands: "DIR", Least: 1, Builtin: true, Check: checkCD,
		Unset:  []string{"CDPATH", "OLDPWD"},
		Pass:   []string{"cd internal", "cd ..", "cd -P src", "cd ~", "cd ~/app", "cd \"$HOME/app\"", "cd $PWD/src"},
		Refuse: []string{"cd", "cd -", "cd a b", "cd s*", "cd ~/s*", "cd ~root", "cd $X", "cd $?", "cd $USER"},
	},
	{
		Name: "pushd", Manual: "bash 5.2 pushd", Operands: "DIR", Least: 1, Builtin: true, Check: checkPushd,
		Unset:  []string{"CDPATH", "OLDPWD"},
		Pass:   []string{"pushd src", "pushd .."},
		Refuse: []string{"pushd", "pushd +1", "pushd -n src", "pushd -", "pushd s*"},
	},
	{
		Name: "popd", Manual: "bash 5.2 popd", Builtin: true,
		Pass: []string{"popd"}, Refuse: []string{"popd +1", "popd -n"},
	},
	{
		Name: "echo", Manual: "bash 5.2 echo", Raw: true, Globs: globRooted, Shows: showValues, Check: checkEcho,
		Builtin: true, Unset: []string{"BASHOPTS", "SHELLOPTS"},
		Pass: []string{"echo", "echo ok", "echo \"a;b|c && d > e\"", "echo '$(rm -rf /) `id`'", "echo -n a",
			"echo -e 'a\\tb\\n'", "echo '\\033[31m'", "echo src/*",
			"echo $?", "echo \"exit: $?\"", "echo -e \"\\nexit=$?\"", "echo ${PIPESTATUS[0]}", "echo $HOME", "echo ~/a",
			"echo \"$USER: $PATH\""},
		Refuse: []string{"echo -e '\\033]52;c;x'", "echo -e \"$?\\033]52;c;x\"", "echo -e \"\\\\$?\"", "echo $?*",
			"echo ${PIPESTATUS[x]}", "echo ${PIPESTATUS[10]}", "echo ${?@P}", "echo ${USER:-$X}", "echo $GITHUB_TOKEN",
			"echo ${!USER}", "echo $'\\e]52;c;x'", "echo $\"a\"", "echo x=~/a", "echo --x=~/a", "echo a:~/a", "echo -ne '\\x1b'",
			"echo *", "echo $X", "echo -e '\\u202e'"},
	},
	{
		Name: "printf", Manual: "bash 5.2 printf", Raw: true, Shows: showValues, Check: checkPrintf, Builtin: true,
		Pass: []string{"printf '%s\\n' one two", "printf hello", "printf -- '-x\\n'", "printf '%5.2f\\t%d\\n' 1 2"},
		Refuse: []string{"printf", "printf -v x y", "printf '\\033]52;c;x\\a'", "printf -v 'a[$(x)]' y",
			"printf '%b' '\\033'", "printf '%n' x", "printf '%(%s)T' x*"},
	},
	{
		Name: "true", Manual: "bash 5.2 true", Raw: true, Builtin: true, Check: checkNothing,
		Pass: []string{"true"}, Refuse: []string{"true *"},
	},
	{
		Name: "false", Manual: "bash 5.2 false", Raw: true, Builtin: true, Check: checkNothing,
		Pass: []string{"false"}, Refuse: []string{"false *"},
	},
	{
		Name: ":", Manual: "bash 5.2 :", Raw: true, Builtin: true, Check: checkNothing,
		Pass: []string{":"}, Refuse: []string{": *"},
	},
	{
		Name: "test", Manual: "bash 5.2 test", Raw: true, Shows: showStatus, Builtin: true, Check: checkTest,
		Pass: []string{"test -f go.mod", "test a = b", "test 1 -lt 2", "test ! -d x", "test -f a -a -d b", "test x",
			"test $? -eq 0", "test \"$?\" != 0"},
		Refuse: []string{"test $USER = root", "test -f $?x$PATH", "test -v 'a[$(x)]'", "test 'a[0]' -eq 0", "test -R x",
			"test a -nt /x*", "test -o x"},
	},
	{
		Name: "[", Manual: "bash 5.2 [", Raw: true, Shows: showStatus, Builtin: true, Check: checkTest,
		Pass:   []string{"[ $? -eq 0 ]", "[ -d internal ]", "[ a = b ]", "[ -n x ]"},
		Refuse: []string{"[ -d internal", "[ -v x ]"},
	},
	{
		Name: "set", Manual: "bash 5.2 set", Raw: true, Builtin: true, Check: checkSet,
		Pass: []string{"set -e", "set -eu", "set -o pipefail", "set -euo pipefail", "set +e", "set -e -o nounset"},
		Refuse: []string{"set", "set -x", "set -ex", "set -o", "set -o xtrace", "set -o allexport", "set -a", "set -f",
			"set -o posix", "set -- a", "set a", "set -e a", "set -p", "set -k", "set -eo", "set -oe pipefail", "set -e*",
			"set $?"},
	},
	{
		Name: "exit", Manual: "bash 5.2 exit", Raw: true, Shows: showStatus, Builtin: true, Check: checkExit,
		Pass:   []string{"exit", "exit 1", "exit $?"},
		Refuse: []string{"exit x", "exit 1 2", "exit -1", "exit $X", "exit $UID", "exit 1*", "exit 'a[$(x)]'"},
	},
	{
		Name: "type", Manual: "bash 5.2 type", Options: "-a -f -t -p -P", Operands: "TEXT...", Builtin: true,
		Pass: []string{"type go", "type -a python3"}, Refuse: []string{"type *"},
	},
	{
		Name: "command -v", Manual: "bash 5.2 command", Operands: "TEXT...", Builtin: true,
		Pass: []string{"command -v go"}, Refuse: []string{"command -v *"},
	},
	{
		Name: "command -V", Manual: "bash 5.2 command", Operands: "TEXT...", Builtin: true,
		Pass: []string{"command -V go"}, Refuse: []string{"command -V *"},
	},
	{
		Name: "which", Manual: "debianutils 5.7 which(1), GNU which 2.21", Options: "-a --all", Operands: "TEXT...", Least: 1,
		Never: map[string]string{"-i,--read-alias,--read-functions": "reads aliases from its input"},
		Pass:  []string{"which go", "which -a python3 node"}, Refuse: []string{"which", "which -i x", "which *"},
	},
	{
		Name: "whereis", Manual: "util-linux 2.38 whereis(1)", Options: "-b -m -s -u", Operands: "TEXT...",
		Pass: []string{"whereis go"}, Refuse: []string{"whereis -B /x -f go"},
	},
	{
		Name: "whoami", Manual: "coreutils 9.1 whoami(1)", Options: "--help --version",
		Pass: []string{"whoami"}, Refuse: []string{"whoami x"},
	},
	{
		Name: "id", Manual: "coreutils 9.1 id(1)", Options: "-a -Z,--context -g,--group -G,--groups -n,--name -r,--real " +
			"-u,--user -z,--zero --help --version", Operands: "TEXT...",
		Pass: []string{"id", "id -u"}, Refuse: []string{"id -x"},
	},
	{
		Name: "groups", Manual: "coreutils 9.1 groups(1)", Operands: "TEXT...",
		Pass: []string{"groups"}, Refuse: []string{"groups -x"},
	},
	{
		Name: "logname", Manual: "coreutils 9.1 logname(1)",
		Pass: []string{"logname"}, Refuse: []string{"logname x"},
	},
	{
		Name: "uname", Manual: "coreutils 9.1 uname(1)",
		Options: "-a,--all -s,--kernel-name -n,--nodename -r,--kernel-release -v,--kernel-version -m,--machine " +
			"-p,--processor -i,--hardware-platform -o,--operating-system --help --version",
		Pass: []string{"uname -a", "uname -sm"}, Refuse: []string{"uname x"},
	},
	{
		Name: "arch", Manual: "coreutils 9.1 arch(1)", Pass: []string{"arch"}, Refuse: []string{"arch -x86_64 sh"},
	},
	{
		Name: "nproc", Manual: "coreutils 9.1 nproc(1)", Options: "--all --ignore=NUM --help --version",
		Pass: []string{"nproc"}, Refuse: []string{"nproc x"},
	},
	{
		Name: "hostname", Manual: "hostname 3.23 hostname(1)", Options: "-s,--short",
		Never: map[string]string{"-F,--file": "sets the name", "-b,--boot": "sets the name"},
		Pass:  []string{"hostname", "hostname -s"}, Refuse: []string{"hostname evil", "hostname -F x", "hostname -b x"},
	},
	{
		Name: "uptime", Manual: "procps 4.0 uptime(1)", Options: "-p,--pretty -s,--since -h,--help -V,--version",
		Pass: []string{"uptime"}, Refuse: []string{"uptime x"},
	},
	{
		Name: "free", Manual: "procps 4.0 free(1)",
		Options: "-b,--bytes -k,--kibi -m,--mebi -g,--gibi -h,--human --si -l,--lohi -t,--total -w,--wide -V,--version",
		Pass:    []string{"free -h"}, Refuse: []string{"free x"},
	},
	{
		Name: "tty", Manual: "coreutils 9.1 tty(1)", Options: "-s,--silent,--quiet --help --version",
		Pass: []string{"tty"}, Refuse: []string{"tty x"},
	},
	{
		Name: "locale", Manual: "glibc 2.36 locale(1)", Options: "-a,--all-locales -c -k", Operands: "TEXT...",
		Never: map[string]string{"-m,--charmaps": "runs gzip"},
		Pass:  []string{"locale", "locale -a"}, Refuse: []string{"locale --x", "locale -m"},
	},
	{
		Name: "getconf", Manual: "glibc 2.36 getconf(1)", Options: "-a", Operands: "TEXT",
		Pass: []string{"getconf PAGESIZE"}, Refuse: []string{"getconf PATH_MAX /x"},
	},
	{
		Name: "lscpu", Manual: "util-linux 2.38 lscpu(1)",
		Options: "-a,--all -b,--online -e,--extended[=TEXT] -J,--json -p,--parse[=TEXT] -V,--version",
		Pass:    []string{"lscpu"}, Refuse: []string{"lscpu -s /x"},
	},
	{
		Name: "date", Manual: "coreutils 9.1 date(1)",
		Options: "-d,--date=TEXT --debug -I,--iso-8601[=TEXT] -R,--rfc-email,--rfc-2822 --rfc-3339=TEXT " +
			"-r,--reference=PATH -u,--utc,--universal --resolution --help --version",
		Never:    map[string]string{"-s,--set": "sets the clock", "-f,--file": "prints what is in a file"},
		Operands: "TEXT", Check: checkDate,
		Pass:   []string{"date", "date '+%Y-%m-%d'", "date -u +%s", "date -d '1 day ago' +%F", "date -Iseconds"},
		Refuse: []string{"date -s '2001-01-01'", "date 010100002001", "date --set=x", "date -f /etc/shadow"},
	},
	{
		Name: "cal", Manual: "util-linux 2.38 cal(1)", Options: "-1 -3 -m -s -y", Operands: "TEXT TEXT TEXT",
		Pass: []string{"cal", "cal 2026"}, Refuse: []string{"cal -x"},
	},
	{
		Name: "sleep", Manual: "coreutils 9.1 sleep(1)", Operands: "NUM...", Least: 1,
		Pass: []string{"sleep 1", "sleep 0.5"}, Refuse: []string{"sleep", "sleep x"},
	},
	{
		Name: "ps", Manual: "procps 4.0 ps(1)", Raw: true, Check: checkPS,
		Unset: []string{"PS_FORMAT", "PS_PERSONALITY", "I_WANT_A_BROKEN_PS"},
		Pass: []string{"ps", "ps aux", "ps -ef", "ps -p 12", "ps aux --sort=-%mem", "ps -eo pid,ppid,cmd --sort=-pcpu",
			"ps -p 12 -o comm=", "ps -ef --forest"},
		Refuse: []string{"ps auxe", "ps e", "ps -o environ", "ps aux*", "ps -e u", "ps -ef a", "ps aux -e", "ps -efl a x",
			"ps -eo pid,environ", "ps -eo pid u", "ps -o", "ps axo pid,cmd", "ps aux --sort=-x"},
	},
	{
		Name: "pgrep", Manual: "procps 4.0 pgrep(1)",
		Options: "-a,--list-full -l,--list-name -c,--count -f,--full -i,--ignore-case -n,--newest -o,--oldest -x,--exact " +
			"-v,--inverse -u,--euid=TEXT -P,--parent=NUM -d,--delimiter=TEXT", Operands: "TEXT", Least: 1,
		Pass: []string{"pgrep -fl node"}, Refuse: []string{"pgrep -F x", "pgrep"},
	},
	{
		Name: "expr", Manual: "coreutils 9.1 expr(1)", Open: true, Raw: true, Check: checkNothing,
		Pass: []string{"expr 1 + 1", "expr 2 '*' 3"}, Refuse: []string{"expr 2 * 3"},
	},
	{
		Name: "tee", Manual: "coreutils 9.1 tee(1)", Operands: "PATH", Least: 1, Check: checkTee,
		Pass:   []string{"tee /dev/null", "tee /dev/stderr"},
		Refuse: []string{"tee x", "tee", "tee -a /dev/null", "tee /dev/null x", "tee /dev/nul*"},
	},
	{
		Name: "ss", Manual: "iproute2 6.1 ss(8)",
		Options: "-t,--tcp -u,--udp -l,--listening -n,--numeric -a,--all -p,--processes -x,--unix -4,--ipv4 " +
			"-6,--ipv6 -s,--summary -e,--extended -m,--memory -o,--options -i,--info -H,--no-header -V,--version",
		Operands: "TEXT...",
		Never: map[string]string{"-K,--kill": "closes connections", "-D,--diag": "writes a file",
			"-F,--filter": "reads any file"},
		Pass:   []string{"ss -tln", "ss -tlnp", "ss -s"},
		Refuse: []string{"ss -K", "ss -D x", "ss -F x", "ss -N x", "ss -r"},
	},
	{
		Name: "netstat", Manual: "net-tools 2.10 netstat(8)",
		Options: "-t,--tcp -u,--udp -l,--listening -n,--numeric -a,--all -p,--program -x,--unix -r,--route " +
			"-s,--statistics -i,--interfaces -e,--extend -o,--timers -V,--version",
		Pass: []string{"netstat -tlnp"}, Refuse: []string{"netstat -c", "netstat x"},
	},
	{
		Name: "lsof", Manual: "lsof 4.95 lsof(8)", Options: "-i[=TEXT] -n -P -t -a -l -p=TEXT -u=TEXT -c=TEXT",
		Operands: "TEXT...",
		Never:    map[string]string{"-D": "writes a file", "-A": "reads any file"},
		Pass:     []string{"lsof -i :5173", "lsof -iTCP:80 -n -P", "lsof -p 12"},
		Refuse:   []string{"lsof -D b/x", "lsof -r", "lsof +D x*"},
	},
	{
		Name: "go version", Manual: "Go 1.26 go help version", Env: map[string]string{"GOTOOLCHAIN": "local"},
		Unset: []string{"GOFLAGS"},
		Pass:  []string{"go version"}, Refuse: []string{"go version -m x", "go version x"},
	},
	{
		Name: "go env", Manual: "Go 1.26 go help env", Options: "-json -changed", Operands: "TEXT...", Check: checkGoEnv,
		Env:    map[string]string{"GOTOOLCHAIN": "local"},
		Unset:  strings.Fields("GOFLAGS GOENV GOAUTH GOPROXY CC CXX FC PKG_CONFIG"),
		Pass:   []string{"go env", "go env GOPATH GOROOT", "go env -json GOVERSION"},
		Refuse: []string{"go env -w GOFLAGS=x", "go env -u GOFLAGS", "go env G*"},
	},
	{
		Name: "tput", Manual: "ncurses 6.4 tput(1)", Raw: true, Check: checkTput,
		Unset: []string{"TERMINFO", "TERMINFO_DIRS"},
		Pass:  []string{"tput cols", "tput setaf 1", "tput sgr0"},
		Refuse: []string{"tput", "tput init", "tput reset", "tput -S", "tput -T x cols", "tput setaf x", "tput is1",
			"tput mc5"},
	},
	{
		Name: "ldd", Manual: "glibc 2.36 ldd(1)",
		Options:  "-v,--verbose -u,--unused -d,--data-relocs -r,--function-relocs --version",
		Operands: "PATH...", Check: checkLoads,
		Pass: []string{"ldd /bin/ls", "ldd -v build/app"}, Refuse: []string{"ldd -x a", "ldd a*"},
	},
	{
		Name: "ip", Manual: "iproute2 6.1 ip(8)", Raw: true, Check: checkIP,
		Pass: []string{"ip a", "ip addr show dev lo", "ip -br link", "ip -4 route show", "ip r", "ip -j -p addr"},
		Refuse: []string{"ip", "ip link set lo down", "ip addr add 10.0.0.1/8 dev lo", "ip -b x", "ip -n x a",
			"ip netns exec x ls",
			"ip vrf exec x ls", "ip a flush", "ip monitor", "ip route get 10.0.0.1", "ip addr show*"},
	},
	{
		Name: "getent", Manual: "glibc 2.36 getent(1)", Raw: true, Check: checkGetent,
		Pass: []string{"getent passwd", "getent passwd root", "getent group", "getent services http",
			"getent hosts localhost"},
		Refuse: []string{"getent", "getent hosts x.example.org", "getent ahosts x.example.org", "getent shadow",
			"getent -s x passwd",
			"getent gshadow root", "getent passwd r*"},
	},
	{
		Name: "bash", Manual: "bash 5.2", Raw: true, Check: checkSyntax, Unset: []string{"BASH_ENV", "ENV", "SHELLOPTS"},
		Pass:   []string{"bash --version", "bash -n x.sh"},
		Refuse: []string{"bash", "bash x.sh", "bash -c ls", "bash -n -c ls", "bash -n x.sh y", "bash -n +n", "bash -n -"},
	},
	{
		Name: "sh", Manual: "dash 0.5", Raw: true, Check: checkSyntax, Unset: []string{"BASH_ENV", "ENV", "SHELLOPTS"},
		Pass: []string{"sh -n x.sh"}, Refuse: []string{"sh", "sh x.sh", "sh -nc ls", "sh -n -- x.sh"},
	},
	{Name: "gcc", Manual: "GCC 12", Raw: true, Check: checkVersion, Pass: []string{"gcc --version"},
		Refuse: []string{"gcc a.c", "gcc --version -o x"}},
	{Name: "g++", Manual: "GCC 12", Raw: true, Check: checkVersion, Pass: []string{"g++ --version"},
		Refuse: []string{"g++ a.c"}},
	{Name: "cc", Manual: "GCC 12", Raw: true, Check: checkVersion, Pass: []string{"cc --version"},
		Refuse: []string{"cc a.c"}},
	{Name: "clang", Manual: "clang 14", Raw: true, Check: checkVersion, Pass: []string{"clang --version"},
		Refuse: []string{"clang a.c"}},
	{Name: "make", Manual: "GNU make 4.3", Raw: true, Check: checkVersion,
		Unset: []string{"MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES"}, Pass: []string{"make --version"},
		Refuse: []string{"make", "make --version all"}},
	{Name: "cmake", Manual: "cmake 3.25", Raw: true, Check: checkVersion, Pass: []string{"cmake --version"},
		Refuse: []string{"cmake ."}},
	{Name: "python3", Manual: "Python 3.11", Raw: true, Check: checkVersionOr("-V"),
		Pass:   []string{"python3 --version", "python3 -V"},
		Refuse: []string{"python3", "python3 -v", "python3 -V x.py", "python3 x.py", "python3 -c x"}},
	{Name: "python", Manual: "Python 3.11", Raw: true, Check: checkVersionOr("-V"),
		Pass: []string{"python --version", "python -V"}, Refuse: []string{"python -v", "python x.py"}},
	{Name: "node", Manual: "node 18", Raw: true, Check: checkVersionOr("-v"), Unset: []string{"NODE_OPTIONS"},
		Pass: []string{"node --version", "node -v"}, Refuse: []string{"node -v x.js", "node", "node x.js", "node -e x"}},
	{Name: "java", Manual: "OpenJDK 17", Raw: true, Check: checkVersionOr("-version"),
		Unset: []string{"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"},
		Pass:  []string{"java --version", "java -version"}, Refuse: []string{"java -version x", "java x"}},
	{Name: "perl", Manual: "perl 5.36", Raw: true, Check: checkVersionOr("-v"), Unset: []string{"PERL5OPT"},
		Pass: []string{"perl --version", "perl -v"}, Refuse: []string{"perl -V", "perl -v x", "perl x"}},
	{Name: "ruby", Manual: "ruby 3.1", Raw: true, Check: checkVersion, Unset: []string{"RUBYOPT"},
		Pass: []string{"ruby --version"}, Refuse: []string{"ruby -v x", "ruby x"}},
	{
		Name: "pip", Manual: "pip 23", Raw: true, Check: checkVersionOr("-V"),
		Unset: []string{"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE"},
		Pass:  []string{"pip --version"}, Refuse: []string{"pip x", "pip --version x"},
	},
	{
		Name: "pip3", Manual: "pip 23", Raw: true, Check: checkVersionOr("-V"),
		Unset: []string{"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE"},
		Pass:  []string{"pip3 --version"}, Refuse: []string{"pip3 x", "pip3 --version x"},
	},
	{
		Name: "npm", Manual: "npm 10", Raw: true, Check: checkVersionOr("-v"), Unset: []string{"NODE_OPTIONS"},
		Pass: []string{"npm --version"}, Refuse: []string{"npm x", "npm --version x"},
	},
	{
		Name: "npx", Manual: "npm 10", Raw: true, Check: checkVersionOr("-v"), Unset: []string{"NODE_OPTIONS"},
		Pass: []string{"npx --version"}, Refuse: []string{"npx x", "npx --version x"},
	},
	{
		Name: "curl", Manual: "curl 7.88", Raw: true, Check: checkVersionOr("-V"), Pass: []string{"curl --version"},
		Refuse: []string{"curl x", "curl --version x"},
	},
	{
		Name: "wget", Manual: "wget 1.21", Raw: true, Check: checkVersionOr("-V"), Pass: []string{"wget --version"},
		Refuse: []string{"wget x", "wget --version x"},
	},
	{
		Name: "tmux", Manual: "tmux 3.3", Raw: true, Check: checkVersionOr("-V"), Pass: []string{"tmux --version"},
		Refuse: []string{"tmux x", "tmux --version x"},
	},
	{
		Name: "ninja", Manual: "ninja 1.11", Raw: true, Check: checkVersion, Pass: []string{"ninja --version"},
		Refuse: []string{"ninja x", "ninja --version x"},
	},
	{
		Name: "clang++", Manual: "clang 14", Raw: true, Check: checkVersion, Pass: []string{"clang++ --version"},
		Refuse: []string{"clang++ x", "clang++ --version x"},
	},
	{
		Name: "clang-format", Manual: "clang 14", Raw: true, Check: checkVersion,
		Pass: []string{"clang-format --version"}, Refuse: []string{"clang-format x", "clang-format --version x"},
	},
	{
		Name: "gh", Manual: "gh 2.23", Raw: true, Check: checkVersion, Pass: []string{"gh --version"},
		Refuse: []string{"gh x", "gh --version x"},
	},
}
