package worker_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

func TestMain(m *testing.M) {
	filestest.Main(m, map[string]func() error{"swapper": playSwapper, "daemon": playDaemon, "runner": playRunner})
}

// swaps is how often the other process puts something else under a name.
const swaps = 100_000

// Acceptance 1, R-FS-05: while operations run, another process swaps the folder
// and the file of their paths for symbolic links, hard links, FIFOs, devices and
// bind mounts. No byte is read from or written to anything outside the root.
func TestRace(t *testing.T) {
	dir := filestest.OpenFolder(t)
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	prepareRace(t, root, outside)
	before := filestest.Snapshot(t, outside)
	b := filestest.New(t, filestest.Options{Root: root, Store: filepath.Join(dir, "store"), Process: true})
	swapper := filestest.Play("swapper", root, outside, strconv.Itoa(swaps))
	must(t, swapper.Start())
	ended := make(chan error, 1)
	go func() { ended <- swapper.Wait() }()

	counts := map[string]int{}
	reported := "" // errors with the place of another process's entry
	start := time.Now()
	for running := true; running; {
		select {
		case err := <-ended:
			must(t, err)
			running = false
		default:
		}
		for _, req := range raceRequests {
			r, _, err := b.Do(req)
			counts[string(req.Op)+": "+answer(err)]++
			if err != nil && strings.Contains(err.Error(), files.TempPrefix) {
				reported += err.Error() + "\n"
			}
			if answer(err) == "failed" {
				t.Errorf("%s %s: %v", req.Op, req.Path, err)
			}
			if strings.Contains(string(r.Content), "CANARY") || strings.Contains(fmt.Sprint(r.Matches, err), "CANARY") {
				t.Fatalf("%s %s read from outside: %q %v %v", req.Op, req.Path, r.Content, r.Matches, err)
			}
			if err != nil && answer(err) == err.Error() {
				t.Fatalf("%s %s: %v", req.Op, req.Path, err)
			}
		}
	}
	t.Logf("%d swaps in %s: %v", swaps, time.Since(start).Round(time.Millisecond), counts)
	if after := filestest.Snapshot(t, outside); after != before {
		t.Errorf("the outside was changed:\n%s\n---\n%s", before, after)
	}
	for _, op := range []string{"read", "write", "edit", "grep", "copy", "list"} {
		if counts[op+": ok"] == 0 {
			t.Errorf("no %s ever succeeded: the race proves nothing", op)
		}
	}
	refusals := 0
	for what, n := range counts {
		for _, reason := range []files.Reason{files.Outside, files.ManyNames, files.Special, files.Changed} {
			if strings.HasSuffix(what, ": "+string(reason)) {
				refusals += n
			}
		}
	}
	if refusals < 10 {
		t.Errorf("only %d refusals: the race proves nothing", refusals)
	}
	for _, l := range filestest.Litter(t, dir) {
		if !strings.Contains(reported, filepath.Base(l)) {
			t.Errorf("left behind and not reported: %s", l)
		}
	}
	if reported != "" {
		t.Logf("reported: %s", reported)
	}
	kept := grepTree(t, dir, "store", "CANARY")
	if kept != "" {
		t.Errorf("the undo store holds what is outside: %s", kept)
	}
}

var raceRequests = []files.Request{
	{Op: files.Read, Path: "race/f"},
	{Op: files.Write, Path: "race/f", Content: []byte("inside, written\n")},
	{Op: files.Read, Path: "race/deep/g"},
	{Op: files.Edit, Path: "race/f", Edits: []files.Replacement{{Find: "inside", Replace: "inside too"}}},
	{Op: files.Write, Path: "race/deep/g", Content: []byte("inside, deep\n")},
	{Op: files.Append, Path: "race/f", Content: []byte("inside, appended\n")},
	{Op: files.Create, Path: "race/pwn", Content: []byte("inside, created\n")},
	{Op: files.List, Path: "race", Recursive: true},
	{Op: files.Grep, Path: ".", Pattern: "CANARY", Recursive: true},
	{Op: files.Grep, Path: ".", Pattern: "inside", Recursive: true},
	{Op: files.Copy, Path: "race/f", To: "copied"},
	{Op: files.Copy, Path: "copied", To: "race/copied"},
	{Op: files.Read, Path: "copied"},
	{Op: files.Delete, Path: "copied"},
	{Op: files.Delete, Path: "race/copied"},
	{Op: files.Stat, Path: "race/f"},
	{Op: files.Move, Path: "race/pwn", To: "race/moved"},
	{Op: files.Delete, Path: "race/moved"},
	{Op: files.Mkdir, Path: "race/new/sub", Parents: true},
	{Op: files.Write, Path: "race/new/sub/h", Content: []byte("inside, new\n")},
	{Op: files.Rmdir, Path: "race/new", Recursive: true},
	{Op: files.Copy, Path: "race/f", To: "copied"},
	{Op: files.Move, Path: "copied", To: "race/f"},
	{Op: files.Copy, Path: "race/f", To: "race/copied"},
	{Op: files.Move, Path: "race/copied", To: "f"},
	{Op: files.Read, Path: "f"},
	{Op: files.Write, Path: "f", Content: []byte("inside, top\n")},
	{Op: files.Delete, Path: "f"},
	{Op: files.Create, Path: "f", Content: []byte("inside, top\n")},
}

// prepareRace makes the root with what the operations use, and beside it, under
// names that no operation uses, what will be swapped in.
func prepareRace(t *testing.T, root, outside string) {
	for _, d := range []string{"race/deep", "alt/dir/deep"} {
		must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	for _, d := range []string{"deep", "new/sub"} {
		must(t, os.MkdirAll(filepath.Join(outside, d), 0o777))
	}
	for _, f := range []string{"f", "race/f", "race/deep/g", "alt/dir/f", "alt/dir/deep/g", "alt/file"} {
		must(t, os.WriteFile(filepath.Join(root, f), []byte("inside\n"), 0o644))
	}
	for _, f := range []string{"f", "deep/g", "pwn", "moved", "new/sub/h", "linked"} {
		must(t, os.WriteFile(filepath.Join(outside, f), []byte(secret), 0o666))
	}
	alt := filepath.Join(root, "alt")
	must(t, os.Symlink("../outside", filepath.Join(alt, "dirlink")))
	must(t, os.Symlink(outside, filepath.Join(alt, "abslink")))
	must(t, os.Symlink(outside+"/f", filepath.Join(alt, "filelink")))
	must(t, os.Symlink("../../outside/f", filepath.Join(alt, "rellink")))
	must(t, os.Link(filepath.Join(outside, "linked"), filepath.Join(alt, "hard")))
	must(t, unix.Mkfifo(filepath.Join(alt, "fifo"), 0o666))
	if os.Geteuid() == 0 {
		must(t, unix.Mknod(filepath.Join(alt, "device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	}
}

// playSwapper is the other process.
func playSwapper() error {
	root, outside := os.Args[1], os.Args[2]
	n, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	folders := []string{"alt/dirlink", "alt/abslink", "alt/dir", "alt/fifo", "alt/rellink"}
	names := []string{"alt/filelink", "alt/hard", "alt/file", "alt/fifo", "alt/rellink", "alt/device", "alt/dirlink"}
	swap := func(a, b string) {
		// What is not there at the moment is swapped another time.
		_ = unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
	}
	for i := range n {
		// There and, next time, back; every pair a while, with all it can be.
		round := i / 2
		switch round % 4 {
		case 0:
			swap("race", folders[round/4%len(folders)])
		case 1:
			swap("race/f", names[round/4%len(names)])
		case 2:
			swap("f", names[round/4%len(names)])
		default:
			swap("race/deep", folders[round/4%len(folders)])
		}
		if i%100 == 0 && os.Geteuid() == 0 {
			bindFor(fd, []string{"race", "race/deep", "race/f", "f"}[(i/100)%4], outside)
		}
		// With few processors the others need turns, too: mostly with everything
		// in its place, sometimes with something else there.
		switch i % 50 {
		case 0:
			time.Sleep(300 * time.Microsecond)
		case 1:
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// bindFor puts a mount of the outside over a name for a moment. It is made over
// what was opened, without following a link, and taken away by its own
// descriptor, so that it lands nowhere else and is not left.
func bindFor(root int, name, outside string) {
	target, err := unix.Openat(root, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(target)
	source := outside
	if strings.HasSuffix(name, "f") {
		source = filepath.Join(outside, "f")
	}
	mount, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return
	}
	defer unix.Close(mount)
	if unix.MoveMount(mount, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH) != nil {
		return
	}
	time.Sleep(50 * time.Microsecond)
	_ = unix.Unmount("/proc/self/fd/"+strconv.Itoa(mount), unix.MNT_DETACH)
}

// grepTree looks for a text in all files below a folder of the bench.
func grepTree(t *testing.T, dir, sub, text string) string {
	found := ""
	err := filepath.WalkDir(filepath.Join(dir, sub), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		if strings.Contains(string(data), text) {
			found = p
		}
		return err
	})
	must(t, err)
	return found
}
