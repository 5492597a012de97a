package acceptance

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A daemon that skips directories without a reported change finds every planted file, too: however the file got
// there, and whatever happened to the tree since the last scan. Commands that do nothing make the daemon scan each tree
// until it knows and watches all of it. Then a change happens outside, and a command plants. R-OS-03
func TestPlantedWhereNobodyLooked(t *testing.T) {
	t.Parallel()
	// More events than the kernel keeps (16,384, fs.inotify.max_queued_events), no two equal ones in a row.
	const many = "touch -ch $(for i in $(seq 9000); do echo q/1 q/2; done)"
	plants := []struct {
		name, setup   string
		outside       string // what happens after the tree is known
		line, planted string
		root          bool
	}{
		{name: "in a directory that is known", setup: "mkdir -p a/b/c", line: "echo x > a/b/c/.envrc", planted: "a/b/c/.envrc"},
		{name: "in new directories", setup: "mkdir -p a/b/c", line: "mkdir -p a/b/c/d/e/.vscode; echo x > a/b/c/d/e/.vscode/tasks.json", planted: "a/b/c/d/e/.vscode"},
		{name: "in a directory that comes from elsewhere", setup: "mkdir -p a/b", line: "mkdir -p /tmp/n/m; echo x > /tmp/n/m/.envrc; mv /tmp/n a/b/n; mkdir q; mv a q/a", planted: "q/a/b/n/m/.envrc"},
		{name: "in one that left and came back", setup: "mkdir -p a/b", line: "mv a /tmp/a; echo x > /tmp/a/b/.envrc; mv /tmp/a a", planted: "a/b/.envrc"},
		{name: "in one that took another's place", setup: "mkdir -p a/b n/b", line: "echo x > n/b/.envrc; mv a was; mv n a; touch -d @1 . a a/b", planted: "a/b/.envrc"},
		{name: "in one that was removed and made again", setup: "mkdir -p a/b", line: "exec 9< a/b; rmdir a/b; mkdir a/b; echo x > a/b/.envrc; touch -d @1 a/b a", planted: "a/b/.envrc"},
		{name: "by a link", setup: "mkdir -p a/b; echo x > f", line: "ln f a/b/.envrc", planted: "a/b/.envrc"},
		{name: "by a symbolic link", setup: "mkdir -p a/b; echo x > f", line: "ln -s ../../f a/b/.envrc", planted: "a/b/.envrc"},
		{name: "through a symbolic link", setup: "mkdir -p a/b; ln -s a/b way", line: "echo x > way/.envrc", planted: "a/b/.envrc"},
		{name: "through a descriptor of a directory that moves", setup: "mkdir -p a/b c", line: "cd a/b; mv ../../a ../../c/a; echo x > .envrc", planted: "c/a/b/.envrc"},
		{name: "in a directory that is closed", setup: "mkdir -p a/b", line: "echo x > a/b/.envrc; chmod 0 a/b; chmod 311 a", planted: "a/b/.envrc"},
		{name: "in a closed directory that was opened outside", setup: "mkdir -p a/b; chmod 311 a/b", outside: "chmod 755 a/b", line: "echo x > a/b/.envrc", planted: "a/b/.envrc"},
		{name: "among git's objects", setup: "mkdir -p .git/objects/ab", line: "mkdir -p .git/objects/ab/d; echo x > .git/objects/ab/d/.envrc", planted: ".git/objects/ab/d/.envrc"},
		{name: "in a new repository", setup: "mkdir -p a/b", line: "git init -q a/b/r; echo x > a/b/r/.git/hooks/pre-commit", planted: "a/b/r/.git/hooks/pre-commit"},
		{name: "in a repository that came to be outside", setup: "mkdir -p a/b", outside: "git init -q a/b/r", line: "mkdir a/b/r/.vscode; echo x > a/b/r/.vscode/tasks.json", planted: "a/b/r/.vscode"},
		{name: "in a directory that was exchanged outside", setup: "mkdir -p a/b n/b/c", outside: "mv a was; mv n a", line: "echo x > a/b/c/.envrc", planted: "a/b/c/.envrc"},
		{name: "behind more changes than the kernel reports", setup: "mkdir -p a/b q; touch q/1 q/2", line: many + "; echo x > a/b/.envrc", planted: "a/b/.envrc"},
		{name: "after more changes than the kernel reports", setup: "mkdir -p a/b q; touch q/1 q/2", outside: many, line: "echo x > a/b/.envrc", planted: "a/b/.envrc"},
		{name: "by a process that forked away", setup: "mkdir -p a/b", line: "setsid sh -c 'sleep 0.2; echo x > a/b/.envrc' & wait", planted: "a/b/.envrc"},
		{name: "on what was mounted over a directory", setup: "mkdir -p a/b", outside: "mount -t tmpfs tmpfs a", line: "mkdir -p a/b; echo x > a/b/.envrc", planted: "a/b/.envrc", root: true},
		{name: "below what was mounted over a directory", setup: "mkdir -p a/b; mount -t tmpfs tmpfs a", outside: "umount a", line: "echo x > a/b/.envrc", planted: "a/b/.envrc", root: true},
		{name: "through another mount of the same directory", setup: "mkdir -p a/b z; mount --bind a/b z", line: "echo x > z/.envrc", planted: "a/b/.envrc", root: true},
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		for _, p := range plants {
			if p.root && !a.root() {
				continue
			}
			t.Run(p.name, func(t *testing.T) {
				a.sh("rm -rf a n q c z f was way; " + p.setup)
				if p.root {
					t.Cleanup(func() { a.do(nil, "/bin/sh", "-c", "umount a z 2>/dev/null; exit 0") })
				}
				if a.daemon == nil {
					a.direct()
				}
				for range 2 {
					time.Sleep(60 * time.Millisecond) // what changed is settled
					if r := a.sbx("run", "--", "true"); r.code != 0 || strings.Contains(r.err, "protected") {
						t.Fatalf("a command that does nothing: %v", r)
					}
				}
				a.sh("true; " + p.outside)
				r := a.sbx("run", "-c", p.line)
				if r.code != 0 || !strings.Contains(r.err, p.planted) {
					t.Errorf("it does not say what it found: %v", r)
				}
				a.sh("chmod u+rwx . a a/b 2>/dev/null || true")
				// The daemon reports a file on a mount, and can't move it off the mount.
				if _, err := os.Lstat(a.project + "/" + p.planted); err == nil && p.outside != "mount -t tmpfs tmpfs a" {
					t.Errorf("%s is there: %v", p.planted, r)
				}
			})
		}
	})
}
