package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/profile"
	"sandboxd/sandbox/stage"
)

// lookAround prints what a command sees of its sandbox, a key and a value on each line.
const lookAround = `
while read -r _ _ _ _ point options rest; do
	rest=${rest##*- }
	echo "mount:$point $options ${rest%% *} ${rest##* }"
done </proc/self/mountinfo
grep -E '^(Cap...|NoNewPrivs|Seccomp.*|Uid|Gid|Groups):' /proc/self/status | tr '\t' ' '
for m in uid gid; do read -r inside outside count </proc/self/${m}_map; echo "map:$m $inside $outside $count"; done
python3 -c '
import fcntl, os
for name in "mnt", "pid", "net":
    try: owner = os.fstat(fcntl.ioctl(os.open("/proc/self/ns/" + name, os.O_RDONLY), 0xb701)).st_ino # NS_GET_USERNS
    except OSError as e: owner = e.strerror
    print("owner:" + name, "own" if owner == os.stat("/proc/self/ns/user").st_ino else owner)'
for n in /proc/self/ns/*; do echo "namespace:${n##*/} $(readlink "$n")"; done
for f in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
	[ -e /proc/self/fd/$f ] && echo "descriptor:$f $(readlink /proc/self/fd/$f | sed 's/[0-9][0-9]*/N/')"
done
for f in exe cwd root fd fd/5 ns/mnt environ mem maps; do
	echo "pid1:$f $( (cat /proc/1/$f >/dev/null || ls /proc/1/$f/) 2>&1 | tail -n 1)"
done
echo "pid1:comm $(cat /proc/1/comm)"
echo "pid1:kill $(kill -KILL 1 2>&1; echo $?)"
set -- /proc/[0-9]*; echo "processes $#"
echo "hostname $(cat /proc/sys/kernel/hostname)"
echo "network $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \n')"
`

// tryWrites tries to change what mounts alone have to keep, a key and the answer on each line.
const tryWrites = `
try() { echo "write:${1// /_} $(eval "$1" 2>&1 | tail -n 1 | sed 's/line [0-9]*//')"; }
try 'touch /usr/x'; try 'mkdir /usr/bin/x'; try 'chmod 777 /usr'
try 'touch /etc/x'; try 'echo x >>/etc/passwd'; try 'mv /etc/hosts /etc/hosts2'
try 'echo x >>.git/config'; try 'rm -f .git/config'; try 'mv .git/config .git/other'; try 'ln -f new .git/config'
try 'touch /x'; try 'chmod 777 /'; try 'chmod 777 /dev/null'; try 'touch /dev/x'; try 'rm -f /dev/null'
try 'echo 1 >/proc/sys/kernel/core_pattern'; try 'echo b >/proc/sysrq-trigger'
try 'echo 1 >/proc/irq/default_smp_affinity'
try 'mount -t tmpfs x /tmp'; try 'umount /proc'
try 'mount -o remount,rw /usr'; try 'touch new && echo written'
`

// different are the rows in which the native back end is another than bubblewrap, with what it has:
// bubblewrap covers places of /proc that are read-only without that, as all of /proc is, gives the
// root its mode in another way, and for root leaves the namespaces to the command's own user namespace.
var different = map[string]string{
	"mount:/proc/bus": "", "mount:/proc/irq": "", "mount:/proc/sysrq-trigger": "",
	"mount:/":   "ro,nosuid,nodev,relatime tmpfs rw,mode=755",
	"owner:mnt": "Operation not permitted",
	"owner:pid": "Operation not permitted",
	"owner:net": "Operation not permitted",
}

// differentForUsers are those for an ordinary user besides, by how they begin: devices are on read-only
// mounts for root with both, for others with the native back end only; and the numbers of the first process's
// descriptors can be listed, though none can be opened.
var differentForUsers = map[string]string{
	"mount:/dev/null":           "ro,nosuid,noexec,",
	"mount:/dev/zero":           "ro,nosuid,noexec,",
	"mount:/dev/full":           "ro,nosuid,noexec,",
	"mount:/dev/random":         "ro,nosuid,noexec,",
	"mount:/dev/urandom":        "ro,nosuid,noexec,",
	"mount:/dev/tty":            "ro,nosuid,noexec,",
	"write:chmod_777_/dev/null": "chmod: changing permissions of '/dev/null': Read-only file system",
	"pid1:fd":                   "5",
}

// A sandbox of the native back end is inside, row by row, what one of bubblewrap is: mounts with their
// options, privileges, namespaces, descriptors, the first process; and its mounts alone, without filter and
// Landlock, keep what they have to. R-OS-03, R-OS-07
func TestInsideEqualsBubblewrap(t *testing.T) {
	p, dir := withConfig(t)
	rows := map[string]map[string]string{}
	for _, backend := range []string{BackendBwrap, BackendNative} {
		h := hostOf(t, backend)
		rows[backend] = lookInside(t, h, p, dir, lookAround, func(*Plan) {})
		maps.Copy(rows[backend], lookInside(t, h, p, dir, tryWrites, func(plan *Plan) {
			plan.order.Seccomp, plan.order.Landlock, plan.order.Tells = nil, nil, false
		}))
		os.Remove(dir + "/new")
	}
	hold(t, rows[BackendNative], dir)
	for _, difference := range differences(rows[BackendBwrap], rows[BackendNative]) {
		t.Error(difference)
	}
}

// The rows show each of these changes of the native back end's operations. R-OS-03
func TestInsideShowsMutations(t *testing.T) {
	p, dir := withConfig(t)
	bw, native := lookInside(t, hostOf(t, BackendBwrap), p, dir, lookAround, func(*Plan) {}), hostOf(t, BackendNative)
	for name, breaks := range map[string]func(*stage.Operation) (remains bool){
		"nothing": func(*stage.Operation) bool { return true },
		"a device is writable": func(op *stage.Operation) bool {
			if op.Kind == stage.OpDevice && op.Path == "/dev/null" {
				op.Kind = stage.OpBind
			}
			return true
		},
		"a private directory shows the host's": func(op *stage.Operation) bool {
			if op.Kind == stage.OpTmpfs && op.Path == "/tmp" {
				op.Kind = stage.OpBind
			}
			return true
		},
		"the network is the host's":            func(op *stage.Operation) bool { return op.Kind != stage.OpNetwork },
		"what is read-only inside is writable": func(op *stage.Operation) bool { return op.Path != dir+"/.git/config" },
	} {
		rows := lookInside(t, native, p, dir, lookAround, func(plan *Plan) {
			before := plan.operations
			plan.operations = nil
			for _, op := range before {
				if breaks(&op) {
					plan.operations = append(plan.operations, op)
				}
			}
		})
		if shown := differences(bw, rows); (len(shown) == 0) != (name == "nothing") {
			t.Errorf("%s: the rows show %q", name, shown)
		} else {
			t.Logf("%s: %q", name, shown)
		}
	}
}

// withConfig returns a profile with a writable directory, in which .git/config is read-only.
func withConfig(t *testing.T) (p profile.Profile, dir string) {
	t.Helper()
	dir = workDir(t)
	if err := os.MkdirAll(dir+"/.git", 0o755); err != nil {
		t.Fatal(err)
	}
	spec := systemSpec(dir, profile.Limits{})
	if err := os.WriteFile(dir+"/.git/config", []byte("[core]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: profile.Read, Path: dir + "/.git/config"})
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

// hostOf opens a host with that back end.
func hostOf(t *testing.T, backend string) *Host {
	t.Helper()
	h, err := Open(context.Background(), Options{Stage: testStage, Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// differences returns the rows in which native is neither as bw nor as it is meant to differ.
func differences(bw, native map[string]string) (list []string) {
	keys := maps.Clone(bw)
	maps.Copy(keys, native)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		bw, native := bw[key], native[key]
		if want, ok := differentForUsers[key]; ok && os.Geteuid() != 0 && strings.HasPrefix(native, want) {
			continue
		}
		if want, ok := different[key]; ok && !strings.HasPrefix(native, want) || !ok && native != bw {
			list = append(list, fmt.Sprintf("%s: native %q, bwrap %q", key, native, bw))
		}
	}
	return list
}

// lookInside runs a script and returns its rows; change is made to its plan.
func lookInside(t *testing.T, h *Host, p profile.Profile, dir, script string, change func(*Plan)) map[string]string {
	t.Helper()
	plan, err := h.Plan(Request{Profile: p, Command: Command{Argv: []string{"bash", "-c", script}, Dir: dir,
		Env: []string{"PATH=/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	change(plan)
	rows := map[string]string{}
	for line := range strings.Lines(carryOn(t, h, plan).out) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name, ok := strings.CutPrefix(key, "namespace:"); ok {
			host, err := os.Readlink(filepath.Join("/proc/self/ns", name))
			value = fmt.Sprint(err == nil && host == value) // whether it is the host's
		}
		rows[key] = value
	}
	return rows
}

// hold fails the test where a row that counts is not there, or a write came through.
func hold(t *testing.T, rows map[string]string, dir string) {
	t.Helper()
	for _, key := range []string{"mount:/", "mount:/usr", "mount:/proc", "mount:/dev", "mount:" + dir + "/.git/config",
		"CapEff:", "map:uid", "NoNewPrivs:", "namespace:user", "owner:mnt", "descriptor:2", "pid1:mem"} {
		if rows[key] == "" {
			t.Errorf("no row %q", key)
		}
	}
	writes := 0
	for key, answer := range rows {
		if !strings.HasPrefix(key, "write:") {
			continue
		}
		if writes++; answer == "" || (answer == "written") != (key == "write:touch_new_&&_echo_written") {
			t.Errorf("%s: %q", key, answer)
		}
	}
	if writes != 22 {
		t.Errorf("%d writes were tried", writes)
	}
}
