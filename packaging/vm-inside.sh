#!/bin/bash
# Runs inside the virtual machine of packaging/vm-test.sh, as root, after boot.
passed=0 failed=0
check() { # check NAME COMMAND…: true or not
	if out=$("${@:2}" 2>&1); then
		passed=$((passed + 1))
		echo "ok: $1"
	else
		failed=$((failed + 1))
		echo "FAIL: $1: $out"
	fi
}
alice() { # without a login each time, which takes longer than what is tried
	runuser -u alice -- env HOME=/home/alice USER=alice XDG_RUNTIME_DIR=/run/user/1000 setsid bash -c "cd ~/project && $1" < /dev/null
}
says() { # says WHAT COMMAND-LINE…: its output holds WHAT
	local out
	out=$(alice "$2" 2>&1)
	grep -q -- "$1" <<< "$out" || { echo "no '$1' in: $out"; return 1; }
}

echo "vm: $(cut -d. -f1 /proc/uptime) s after power-on: Linux $(uname -r), $(stat -fc %T /sys/fs/cgroup) with $(cat /sys/fs/cgroup/cgroup.controllers)"
check "a v2-only tree" test "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs
check "the package serves in an image that it was installed into" systemctl is-active sandboxd.socket sandboxd-approver.socket sandboxd-heads.socket
for _ in $(seq 100); do [ -S /run/sandboxd/users/1000/launcher.sock ] && break; sleep 1; done
runuser -u alice -- git init -q /home/alice/project
cat > /home/alice/project/memory.pl <<'EOF'
$x = "a" x 200_000_000; print length $x
EOF
cat > /home/alice/project/processes.pl <<'EOF'
for (1..60) { my $p = fork; defined $p or die "fork: $!"; if (!$p) { sleep 20; exit } }
EOF
echo '1 while 1' > /home/alice/project/cpu.pl
cp /etc/sandboxd/config.toml /root/config.toml
cat >> /etc/sandboxd/config.toml <<'EOF'
[sandbox.limits]
memory = "64MiB"
processes = 24
cpu = "3s"
[shell]
[[shell.rules]]
pattern = "perl *"
approval = false
EOF
check "a command runs as its user" says '^alice$' 'sbx run -- id -un'
check "control groups hold the limits" says '^limits *enforced *cgroup v2' 'sbx status'
check "each command has a group below the launcher's" bash -c 'find /sys/fs/cgroup/user.slice -path "*sandboxd-launcher.service/sandboxd.*" | grep -q .'
check "too much memory is named" says '"limits_hit":\["memory"' "sbx run --json -- perl memory.pl"
check "too many processes are refused" says 'fork: ' "sbx run --json -- perl processes.pl"
check "too much processor time is named" says '"limits_hit":\["cpu"' "sbx run --json -- perl cpu.pl"
check "Landlock is on" says '^landlock *on' 'sbx status'
# R-AU-03: a clock that jumps ahead, and back by more.
for jump in '+2 years' '-4 years' '+2 years'; do
	date -s "$jump" > /dev/null
	check "a command after the clock jumped $jump" says '^alice$' 'sbx run -- id -un'
done
check "the log holds" alice 'sbx log verify'
cp /root/config.toml /etc/sandboxd/config.toml
check "a reload" systemctl reload sandboxd
check "what each protection forbids is attempted" alice 'sbx doctor'
backend() { # the doctor says which back end is on, native on this kernel, and why the other one is off
	local lines
	lines=$(alice 'sbx doctor' 2>&1 | grep -E '^(native|bwrap) ')
	echo "$lines"
	grep -qE '^native +on' <<< "$lines" && grep -qE '^bwrap +off .*not needed: native makes the namespaces' <<< "$lines"
}
check "the doctor names the native back end, and why the other one is off" backend
sed 's/^/vm: /' <<< "$out"
# An overlay has no lower directory that folds case: such a project's runs are direct, and say so.
truncate -s 64M /root/fold.img
mke2fs -q -t ext4 -O casefold -E encoding=utf8 /root/fold.img
mkdir -p /mnt/fold
mount -o loop /root/fold.img /mnt/fold
mkdir /mnt/fold/project
chattr +F /mnt/fold/project
chown alice: /mnt/fold/project
check "a project that folds case is written directly" says '"kind":"direct"' \
	"cd /mnt/fold/project && git init -q . && echo a > File && sbx trust --contained && sbx run --json -c 'echo b >> fILE'"
umount /mnt/fold
# AppArmor forbids user namespaces to what has no rule for them: Ubuntu's kernel to each program without a profile,
# Debian's, from Linux 6.7 on, to one with a profile like this.
rules=/sys/kernel/security/apparmor/features/namespaces
if [ -e "$rules/userns_create" ] || grep -qs userns_create "$rules/mask"; then
	cat > /root/restricted <<'EOF'
abi <abi/4.0>,
profile restricted flags=(attach_disconnected) {
  capability, network, mount, remount, umount, pivot_root, ptrace, signal, unix, dbus, mqueue, io_uring,
  / r,
  /** rwlkm,
  /** pix,
}
EOF
	check "a profile without user namespaces" apparmor_parser -r /root/restricted
	restricted() { # restricted NAME ARGUMENTS: sbx, with a daemon of its own, which it starts; both programs are in $in
		alice "mkdir -p -m 700 ~/$1 && printf '[sandbox]\nbackend = \"${1#bare}\"\n' > ~/$1/config.toml && chmod 600 ~/$1/config.toml &&
			aa-exec -p restricted -- $in/sbx --socket-dir ~/$1/socket --state-dir ~/$1/state --config ~/$1/config.toml $2"
	}
	shows() { # shows WHAT NAME ARGUMENTS
		local out
		out=$(restricted "$2" "$3" 2>&1)
		grep -q -- "$1" <<< "$out" || { echo "no '$1' in: $out"; return 1; }
	}
	refused() { ! alice 'aa-exec -p restricted -- unshare -Ur true'; }
	check "AppArmor refuses a user namespace" refused
	rm /home/alice/project/*.pl # of another owner, whose project has no layers
	mkdir -p /opt/bare && cp /usr/bin/sandboxd* /usr/bin/sbx* /opt/bare/
	for name in native bwrap; do
		in=/opt/bare
		check "no daemon of $name starts without the profile, and it names the remedy" \
			shows 'AppArmor.* forbids user namespaces.* cp /usr/share/sandboxd/apparmor/sandboxd' "bare$name" 'run -- id -un'
	done
	check "the remedy that the doctor names" sh -c 'cp /usr/share/sandboxd/apparmor/sandboxd /etc/apparmor.d/ && apparmor_parser -r /etc/apparmor.d/sandboxd'
	in=/usr/bin
	for name in native bwrap; do
		check "the doctor says that $name is on with the profile" shows "^$name *on" "$name" doctor
		check "a command of $name" shows '^alice$' "$name" 'run -- id -un'
		check "the project is trusted" restricted "$name" 'trust --contained'
		check "a command of $name that writes to a layer" shows '"kind":"layered","landed":true' "$name" "run --json -c 'touch $name'"
		check "a command of $name makes no user namespace" shows '^refused$' "$name" "run -c 'unshare -Ur true || echo refused'"
		profile() { grep -h . "/proc/$(pgrep -u alice -f -o "/usr/bin/sandboxd .*/$name/state")/attr/current" | grep '^sandboxd '; }
		check "the daemon of $name has the profile" profile
	done
	pkill -u alice -f 'sandboxd .*/state' || true
fi
[ "$failed" = 0 ] || journalctl --no-pager -n 30 _UID=1000 | tail -n 30

# The live suites, with the programs as they are installed: what the tests have
# built is a copy of them.
mkdir -p /suites/shim /var/log/suites
cat > /suites/shim/go <<'EOF'
#!/bin/sh
[ "$1" = build ] || { echo "go $*: not here" >&2; exit 1; }
while [ $# -gt 1 ]; do
	[ "$1" = -o ] && out=$2
	shift
done
program=/suites/backends/$ACCEPTANCE_BACKEND/${out##*/} # one that has another default
[ -x "$program" ] || program=/usr/bin/${out##*/}
exec cp "$program" "$out"
EOF
mkdir -p /suites/cmd/sandboxd-launch
printf '#!/bin/sh\nexec cp /usr/bin/sandboxd-launch "$1"\n' > /suites/cmd/sandboxd-launch/build.sh
chmod +x /suites/shim/go /suites/cmd/sandboxd-launch/build.sh
touch /suites/go.mod # below which internal/programtest finds build.sh
suite() { # [BACKEND=…] suite NAME TESTS [SKIPPED]: the tests of one folder that match
	local name=$1 tests=$2 as=$1${BACKEND:+ with $BACKEND} log=/var/log/suites/$1${BACKEND:+-$BACKEND}.log
	[ -x "/suites/$name/$name.test" ] || return 0
	[ -z "$(cat /suites/run)" ] || tests=$(cat /suites/run)
	if (cd "/suites/$name" && PATH=/suites/shim:$PATH HOME=/root ACCEPTANCE_USERS=both ACCEPTANCE_BACKEND=${BACKEND-} DIFFERENTIAL_PROFILES=12 ACCEPTANCE_SLOW=10 nice -n 0 "./$name.test" -test.v -test.timeout 4h -test.run "$tests" ${3:+-test.skip "$3"}) > "$log" 2>&1; then
		passed=$((passed + 1))
		echo "ok: suite $as, $(grep -c -- '--- PASS' "$log") tests in $SECONDS s"
	else
		failed=$((failed + 1))
		echo "FAIL: suite $as, $(grep -c -- '--- PASS' "$log") passed, $SECONDS s: $(grep -- '--- FAIL' "$log" | tr -s ' \n' ' ' | cut -c 1-2000)"
	fi
	grep -h 'left out' "$log" | sed 's/^/vm: /'
}
suite landlock .
suite sandbox .
suite bwrap .
suite layer . '^TestMutations$'
# Without what compares programs with policies and numbers with Go's own, in which no
# kernel has a part, and without what compiles Go, which is not here.
suite seccomp . '^(TestProgramMeansThePolicy|TestTellingMeansThePolicy|TestNumbers)$|^TestWorkloads$/^go_'
# The main job, the catalogue of escapes, and the sandbox's own. Each daemon gets a
# control group of its own, as from a service manager: TestLimits has those of v2.
mkdir /sys/fs/cgroup/acceptance
echo '+pids +memory' > /sys/fs/cgroup/acceptance/cgroup.subtree_control
export ACCEPTANCE_CGROUP=/sys/fs/cgroup/acceptance
suite acceptance '^(TestGitStatusRunsUnasked|TestWritingAsks|TestWithoutATerminalItIsDenied|TestExitStatuses|TestForbiddenActs|TestWorkloads|TestKilledDaemonLeavesNothing|TestLogVerifyNamesAChangedRecord|TestEscapeCatalogue|TestEscapeCatalogueByLandlockAlone|TestLandlockAloneIsAcceptedByName|TestDegradedHosts|TestNoLitter|TestLimits|TestOutputFlood|TestNoDescriptorIsInherited|TestEnvironmentInside|TestOrdinaryWork|TestWideningIsAsked|TestProtectedIsEnforcedInAnOrdinaryProject|TestQuarantineIsReported|TestRefusalsAreReported|TestTerminal|TestLayeredRuns|TestLayersAskAtLanding|TestLayersHeldByChoice|TestLayersJudgeProtectedNames|TestUndoOfRuns)$' \
	'TestWorkloads/.*/go_test'
layers=
if printf '%s\n' 'bubblewrap 0.11' "$(bwrap --version)" | sort -VC; then
	layers='|LayeredRuns|LayersAskAtLanding|LayersHeldByChoice|LayersLandInPart|LayersJudgeProtectedNames|UndoOfRuns'
fi
ACCEPTANCE_LAYERS=bwrap BACKEND=bwrap suite acceptance "^Test(ForbiddenActs|OrdinaryWork$layers)$"
suite differential .
echo "vm: $passed passed, $failed failed"
