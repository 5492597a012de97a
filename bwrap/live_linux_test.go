package bwrap_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// ordinary plays an ordinary user; it needs no name.
const ordinary = 54322

// users are the uids that live tests run as.
func users(t *testing.T) []int {
	if os.Geteuid() == 0 {
		return []int{0, ordinary}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("run the live tests as root")
	}
	return []int{os.Geteuid()}
}

// system is what a shell needs.
func system() []profile.Rule {
	var rules []profile.Rule
	for _, path := range profile.SystemTrees() {
		rules = append(rules, allow(rx, path))
	}
	return append(rules, rule(profile.Private, "/proc"), allow(rw, "/dev/null"))
}

// command is bwrap around a shell.
func command(t *testing.T, p profile.Profile, euid int, script string) *exec.Cmd {
	t.Helper()
	out, err := exec.Command("bwrap", "--version").Output()
	if err != nil {
		t.Fatalf("bwrap --version: %v; install bubblewrap", err)
	}
	version, err := bwrap.ParseVersion(string(out))
	if err != nil {
		t.Fatal(err)
	}
	var result bwrap.Result
	seenBy(t, euid, func() {
		result, err = bwrap.Compile(p, nil, bwrap.Host{Version: version, FS: bwrap.HostFS(), Euid: euid, Descriptor: 4})
	})
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := write.Write(bwrap.Encode(result.Args)); err != nil {
		t.Fatal(err)
	}
	write.Close()
	empty, err := os.CreateTemp("", "empty-for-bwrap")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); empty.Close(); os.Remove(empty.Name()) })
	cmd := exec.Command("bwrap", "--args", "3", "--", "/bin/bash", "--noprofile", "--norc", "-c", script)
	cmd.ExtraFiles = []*os.File{read}
	for range result.Descriptors {
		cmd.ExtraFiles = append(cmd.ExtraFiles, empty)
	}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if euid != os.Geteuid() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(euid), Gid: uint32(euid)}
	}
	return cmd
}

// seenBy calls f with the sight of euid: root sees sockets in directories that
// another's bwrap could not even enter.
func seenBy(t *testing.T, euid int, f func()) {
	t.Helper()
	if euid == os.Geteuid() {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer unix.SetfsuidRetUid(0)
	defer unix.SetfsgidRetGid(0)
	unix.SetfsgidRetGid(euid)
	unix.SetfsuidRetUid(euid)
	if now, _ := unix.SetfsuidRetUid(-1); now != euid {
		t.Fatalf("setfsuid %d: it is %d", euid, now)
	}
	f()
}

func run(t *testing.T, p profile.Profile, euid int, script string) string {
	t.Helper()
	out, err := command(t, p, euid, script).CombinedOutput()
	if err != nil {
		t.Fatalf("as %d: %v\n%s", euid, err, out)
	}
	return string(out)
}

// project makes files for euid; a name that ends in a slash is a directory.
func project(t *testing.T, euid int, names ...string) string {
	t.Helper()
	top, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	for _, name := range names {
		path := filepath.Join(top, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte("content of "+name), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	filepath.WalkDir(top, func(p string, _ fs.DirEntry, _ error) error { return os.Lchown(p, euid, euid) })
	return top
}

// files describes everything below top, times and inodes included.
func files(t *testing.T, top string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, _ := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %v %v %d %q\n", p, info.Mode(), info.ModTime(), info.Sys().(*syscall.Stat_t).Ino, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// busy is a profile that needs every kind of mount in top.
func busy(t *testing.T, top string) profile.Profile {
	return mustNew(t, append(system(),
		allow(rwx, top), rule(profile.Hide, top+"/secret"), rule(profile.Hide, top+"/.env"),
		rule(profile.Hide, top+"/absent/deep"),
		rule(profile.Protect, top+"/a/b/guarded"), rule(profile.Protect, top+"/absent-file"),
		rule(profile.Private, top+"/cache"),
		rule(profile.Private, top+"/absent-cache"), allow(rx, top+"/a/ro"), allow(rwx, top+"/a/ro/rw"),
		allow(rwx, top+"/nothing/here"),
		named(profile.Protect, top, ".git/hooks"), named(profile.Hide, top, "*.key"), rule(profile.Private, "/tmp/private"),
	)...)
}

var busyFiles = []string{
	"secret/id", ".env", "a/b/guarded/x", "cache/old", "a/ro/f", "a/ro/rw/f", ".git/hooks/pre-commit", "sub/.git/hooks/",
	"sub/deep.key", "free",
}

// TestNoLitter: nothing is left on the host, neither after an ordinary end
// nor after a kill (DESIGN, promise 7).
func TestNoLitter(t *testing.T) {
	for _, euid := range users(t) {
		top := project(t, euid, busyFiles...)
		p := busy(t, top)
		before := files(t, top)
		run(t, p, euid, "true")
		if after := files(t, top); after != before {
			t.Errorf("as %d, after an ordinary end:\n%s\nwant\n%s", euid, after, before)
		}
		for _, wait := range []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond,
			100 * time.Millisecond} {
			cmd := command(t, p, euid, "sleep 60")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			cmd.Process.Kill()
			cmd.Wait()
			if after := files(t, top); after != before {
				t.Errorf("as %d, killed after %v:\n%s\nwant\n%s", euid, wait, after, before)
			}
		}
	}
}

// TestHeld (R-OS-02, R-OS-07): what is hidden or protected stays so, whatever its owner tries.
func TestHeld(t *testing.T) {
	for _, euid := range users(t) {
		top := project(t, euid, busyFiles...)
		before := files(t, top)
		script := "cd " + top + "\n"
		for _, attempt := range []string{
			"cat .env", "echo x >.env", "chmod 600 .env", "rm -f .env", "mv .env x", "mv free .env", "ln .env x",
			"ln -f free .env", "ls secret", "cat secret/id", "chmod 755 secret", "rmdir secret", "mv secret x", "touch secret/x",
			"umount secret", "echo x >a/b/guarded/x", "rm -rf a/b/guarded", "mv a/b/guarded x", "mv a/b x", "mv a x",
			"chmod 777 a/b/guarded", "touch a/b/guarded/x", "echo x >.git/hooks/pre-commit", "mv .git x", "mv .git/hooks .git/x",
			"chmod -x .git/hooks/pre-commit", "cat sub/deep.key", "mv sub x", "cat cache/old", "mv cache x", "echo x >a/ro/f",
			"mv a/ro/rw x", "touch /x", "mkdir /tmp/x", "echo x >/proc/sys/vm/swappiness", "mount -o remount,rw / ", "ls " +
				filepath.Dir(top),
		} {
			script += "if (" + attempt + ") 2>/dev/null; then echo 'WORKED: " + attempt + "'; fi\n"
		}
		script += "cat a/b/guarded/x >/dev/null && cat .git/hooks/pre-commit >/dev/null && touch cache/new a/ro/rw/f && echo held"
		if out := run(t, busy(t, top), euid, script); strings.TrimSpace(out) != "held" {
			t.Errorf("as %d:\n%s", euid, out)
		}
		after := files(t, top)
		for _, line := range strings.Split(before, "\n") {
			isDir := strings.Contains(line, " drwx") // times of directories change
			if !isDir && !strings.Contains(line, "/a/ro/rw/f ") && !strings.Contains(after, line) {
				t.Errorf("as %d: was %s, is\n%s", euid, line, after)
			}
		}
	}
}

// TestRootReachesNoKernelFile: uid 0 without any capability may still write
// what belongs to uid 0 in a procfs, core_pattern among it, unless mounts
// keep it away; bwrap 0.8.0 does not by itself.
func TestRootReachesNoKernelFile(t *testing.T) {
	for _, euid := range users(t) {
		out := run(t, mustNew(t, system()...), euid,
			`find /proc -path '/proc/[0-9]*' -prune -o -path /proc/pressure -prune -o -type f -writable ! -name ns_last_pid -print 2>/dev/null; echo end`)
		if strings.TrimSpace(out) != "end" {
			t.Errorf("as %d these can be written:\n%s", euid, out)
		}
		read := append(slices.Clone(system()), profile.Rule{Kind: profile.Private, Access: r, Path: "/proc"})
		out = run(t, mustNew(t, read...), euid, `echo 0 2>/dev/null >/proc/self/oom_score_adj || echo refused`)
		if strings.TrimSpace(out) != "refused" {
			t.Errorf("as %d, /proc to read only: %s", euid, out)
		}
	}
}

// TestTheWholeMachine: a profile that reads "/".
func TestTheWholeMachine(t *testing.T) {
	for _, euid := range users(t) {
		top := project(t, euid, "w/f", "secret/f")
		p := mustNew(t, allow(rx, "/"), rule(profile.Private, "/proc"), rule(profile.Private, "/dev/pts"),
			rule(profile.Private, "/dev/shm"),
			allow(rw, "/dev/null"), allow(rwx, top+"/w"), rule(profile.Hide, top+"/secret"))
		out := run(t, p, euid, fmt.Sprintf(`cd %s; ls / >/dev/null && ls /sys >/dev/null && echo x >w/f && echo ok
			cat secret/f || touch x || touch /etc/x || ls /proc/%d && echo BROKEN; ls /dev/pts; touch /dev/shm/x; echo >/dev/null`, top, os.Getpid()))
		if !strings.Contains(out, "ok") || strings.Contains(out, "BROKEN") {
			t.Errorf("as %d: %s", euid, out)
		}
	}
}

// Entries of a directory that only its owner may enter need no mount in root's
// sandbox, and could get none.
func TestOthersPrivateDirectories(t *testing.T) {
	for _, euid := range users(t) {
		if euid != 0 {
			continue
		}
		top := project(t, euid, "w/f", "open/f", "private/.env", "private/deep/f")
		for _, name := range []string{"private/deep/socket", "open/socket"} {
			l, err := net.Listen("unix", top+"/"+name)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		if err := errors.Join(os.Chmod(top+"/private", 0o700), os.Chown(top+"/private", 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		p := mustNew(t, append(system(), allow(rx, top), allow(rwx, top+"/w"), named(profile.Hide, top, ".env"))...)
		out := run(t, p, euid, fmt.Sprintf(`cd %s; cat open/f && echo x > w/f && echo ok; ls -A private 2>/dev/null; test -S open/socket || echo gone`, top))
		if strings.TrimSpace(strings.ReplaceAll(out, "content of open/f", "")) != "ok\ngone" {
			t.Errorf("%s", out)
		}
	}
}

// TestDescriptorsAreClosed: bwrap closes what it reads, so the command sees
// only what the caller gave it.
func TestDescriptorsAreClosed(t *testing.T) {
	for _, euid := range users(t) {
		top := project(t, euid, busyFiles...)
		out := run(t, busy(t, top), euid, "ls -l /proc/self/fd")
		if strings.Contains(out, "empty-for-bwrap") {
			t.Errorf("as %d: %s", euid, out)
		}
	}
}

// TestHardLinksAreReported: another name of a protected file in the same tree
// is a way around the mount, and said to be.
func TestHardLinksAreReported(t *testing.T) {
	top := project(t, os.Geteuid(), "guarded", "single")
	if err := os.Link(top+"/guarded", top+"/alias"); err != nil {
		t.Fatal(err)
	}
	p := mustNew(t, allow(rwx, top), rule(profile.Protect, top+"/guarded"), rule(profile.Protect, top+"/single"))
	result, err := bwrap.Compile(p, nil, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: bwrap.HostFS(), Euid: 1,
		Descriptor: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := gaps(result); !slices.Contains(got, "protect "+top+"/guarded") ||
		slices.Contains(got, "protect "+top+"/single") {
		t.Errorf("gaps %q", got)
	}
}
