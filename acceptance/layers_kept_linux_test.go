package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// R-LY-04, R-LY-06: a change set whose undo needs more than the store keeps asks. After a no it is held, and the
// project is as before; after a yes it stays landed, also with the next daemon.
func TestLayersBeyondTheBudgetOfUndo(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("echo old > README; seq 100000 > large")
		for _, line := range []string{
			"mkdir many; for i in $(seq 400); do : > many/$i; done; echo changed >> README", // many steps
			"seq 1000 > README; rm large", // much content
		} {
			for _, yes := range []bool{false, true} {
				a.containedLayers("[files.undo]\nkeep_bytes = 100000\n")
				before, asked := a.everything(), 0
				r := a.landing(func(q ipc.Approval) bool {
					asked++
					if !strings.Contains(strings.Join(q.Reasons, " "), "it can't be undone") {
						t.Errorf("%s: it asks for %q", line, q.Reasons)
					}
					return yes
				}, "run", "-c", line)
				if after := a.everything(); asked != 1 || yes != (r.code == 0) || yes != (after != before) {
					t.Errorf("%s: asked %d times, yes %t: %d %s", line, asked, yes, r.code, r.err)
				}
				a.sh("echo mine > note")
				now := a.everything()
				a.stop()
				a.containedLayers("[files.undo]\nkeep_bytes = 100000\n")
				if a.sbx("run", "-c", "ls"); a.everything() != now {
					t.Errorf("%s: yes %t: the next daemon made\n%s\n--- of\n%s", line, yes, a.everything(), now)
				}
				if id := heldID(a.sbx("changes").out); yes != (id == "") {
					t.Errorf("%s: yes %t: held: %s", line, yes, id)
				} else if !yes {
					a.landing(always, "changes", "drop", id)
				}
				a.noLayers()
				a.stop()
				a.sh("rm note")
			}
		}
	})
}

// R-LY-03, R-FS-08: a run or file operation whose undo takes the room of that of an earlier one says so.
func TestUndoThatIsEvictedIsTold(t *testing.T) {
	t.Parallel()
	a := ordinaryActor(t)
	a.sh("seq 20000 > first; seq 20000 > second; seq 20000 > third; seq 20000 > fourth")
	a.containedLayers("[files.undo]\nkeep_bytes = 250000\n")
	for i, args := range [][]string{{"run", "-c", "echo > first"},
		{"run", "-c", "echo > second"}, {"run", "-c", "echo > third"}} {
		r := a.landing(always, args...)
		if told := strings.Contains(r.err, "can't be undone any more"); r.code != 0 || told != (i > 1) {
			t.Errorf("%v: told %t: %s", args, told, r.result)
			t.Log(r.out)
		}
	}
	if r := a.landing(always, "file", "delete", "fourth"); !strings.Contains(r.err, "can't be undone any more") {
		t.Errorf("a file operation: %s", r.result)
	}
}

func always(ipc.Approval) bool { return true }

// heldID is the id of the first held change set in a text, "" where it has none.
func heldID(text string) string {
	for field := range strings.FieldsSeq(text) {
		if strings.HasPrefix(field, "h-") {
			return strings.Trim(field, ",:;")
		}
	}
	return ""
}

// R-LY-04: the change set of a command whose client was killed lands, and can be undone.
func TestLayersOutliveTheirClient(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		before := a.everything()
		cmd := a.command(context.Background(), filepath.Join(bin, "sbx"), "run", "-c", "echo x > e; sleep 20")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the command", func() bool {
			names, _ := filepath.Glob(a.stateDir() + "/layers/x-*/upper/e")
			return len(names) > 0
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		eventually(t, "the landing", func() bool { return a.there("e") })
		a.noLayers()
		if r := a.landing(always, "undo", "--last"); r.code != 0 || a.everything() != before {
			t.Errorf("undo: %v\n%s", r, a.everything())
		}
	})
}

// R-LY-04: files below a directory that its mode closes come back, although the command opened it.
func TestLayersKeepWhatModesClose(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		for _, mode := range []string{"600", "400", "300", "100", "000"} {
			a.sh("mkdir -p closed/below; echo precious > closed/f; echo more > closed/below/g")
			looks := func() string {
				return a.sh("stat -c %a closed; chmod 700 closed; stat -c %a closed/below; chmod 700 closed/below\n" +
					"cat closed/f closed/below/g")
			}
			a.sh("chmod " + mode + " closed/below closed")
			if r := a.sbx("run", "-c", "chmod 700 closed closed/below; rm -rf closed"); r.code != 0 || a.there("closed") {
				t.Fatalf("%s: %v", mode, r)
			}
			want := strings.Repeat(strings.TrimLeft(mode, "0")+"\n", 2) + "precious\nmore\n"
			if mode == "000" {
				want = "0\n0\nprecious\nmore\n"
			}
			if r := a.landing(always, "undo", "--last"); r.code != 0 || looks() != want {
				t.Errorf("%s: undo: %v", mode, r)
			}
			a.sh("rm -rf closed")
		}
	})
}

// otherList is an access control list that names user 54321 (linux/posix_acl_xattr.h).
const otherList = "0x0200000001000600ffffffff0200060031d4000004000400ffffffff10000600ffffffff20000400ffffffff"

// R-LY-02, R-LY-05: what can't be copied is a conflict of its own, which names it and the remedy. The rest lands by its
// name, and the change set can be dropped.
func TestLayersOfWhatCantLand(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("echo old > listed; setfattr -n system.posix_acl_access -v " + otherList + " listed")
		for line, want := range map[string]string{
			"echo x > good; echo more >> listed":                         "listed",
			"echo x > good; for i in $(seq 300); do mkdir d; cd d; done": "more than 256 directories deep",
		} {
			before := a.everything()
			r := a.sbx("run", "-c", line)
			named := strings.Contains(r.err, want) && strings.Contains(r.err, "--direct") && len(r.err) < 3000
			if r.code != 126 || !named || a.everything() != before {
				t.Errorf("%s: %d %.3000s", line, r.code, r.err)
			}
			id := heldID(r.err)
			if r := a.landing(always, "changes", "land", id, "good"); r.code != 0 || !a.there("good") {
				t.Errorf("%s: the rest: %v", line, r)
			}
			if r := a.landing(always, "changes", "drop", id); r.code != 0 {
				t.Errorf("%s: drop: %v", line, r)
			}
			a.noLayers()
			a.sh("rm good")
			// Its last path that has a copy is not all of it.
			id = heldID(a.sbx("run", "-c", line).err)
			if r := a.landing(always, "changes", "drop", id, "good"); r.code != 0 {
				t.Errorf("%s: drop of good: %v", line, r)
			}
			if r := a.sbx("changes", "show", id); r.code != 0 || !strings.Contains(r.out, want) {
				t.Errorf("%s: after the drop of good: %v", line, r)
			}
			if r := a.landing(always, "changes", "drop", id); r.code != 0 {
				t.Errorf("%s: drop of all: %v", line, r)
			}
			a.noLayers()
		}
	})
}

// R-LY-04: what no worker can make again is named when it lands, and keeps nothing else from coming back: set-ID bits,
// and an access control list of somebody else.
func TestLayersUndoWithoutSetID(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		for make, line := range map[string]string{
			"echo x > tool; chmod 4755 tool":  "rm tool",
			"echo x > tool; chmod 6755 tool ": "echo y >> tool",
			"echo x > tool; setfattr -n system.posix_acl_access -v " + otherList + " tool; true": "rm tool",
			"mkdir team; setfattr -n system.posix_acl_default -v " + otherList + " team; true":   "rmdir team",
		} {
			a.sh(make)
			look := func() string {
				return a.sh("find . -path ./.git -prune -o -type f -exec sha256sum {} + | sort; ls -R team || true")
			}
			before := look()
			r := a.sbx("run", "-c", "echo more > src/new.txt; "+line)
			if r.code != 0 || !strings.Contains(r.err, "undo lacks") {
				t.Errorf("%s, %s: %v", make, line, r)
			}
			if r := a.landing(always, "undo", "--last"); r.code != 0 || look() != before {
				t.Errorf("%s, %s: undo: %v\n%s\n---\n%s", make, line, r, look(), before)
			}
			a.sh("rm -rf team tool; echo untracked > src/new.txt")
		}
	})
}

// R-LY-04: the undo of a run removes directories that close themselves to their owner.
func TestUndoOfClosedDirectories(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("mkdir opened; echo x > opened/f; chmod 0 opened")
		for _, line := range []string{
			"mkdir -p closed/below; echo x > closed/f; echo y > closed/below/g; chmod 0 closed/below closed",
			"chmod 700 opened; rm opened/f; chmod 0 opened", "chmod 700 opened; echo more > opened/g; chmod 300 opened",
		} {
			look := func() string {
				return a.sh("stat -c '%n %a' opened; chmod 700 opened; grep -r . opened || true; chmod 0 opened; ls")
			}
			before := look()
			if r := a.sbx("run", "-c", line); r.code != 0 {
				t.Fatalf("%s: %v", line, r)
			}
			if r := a.landing(always, "undo", "--last"); r.code != 0 || look() != before {
				t.Errorf("%s: undo: %v\n%s", line, r, look())
			}
		}
	})
}

// R-LY-04: by force an undo makes a directory again where somebody made a file, which is kept.
func TestUndoOfADirectoryByForce(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		look := func() string {
			return a.sh("cat n || true; find src -printf '%p %y %m %T@\\n' -type f -exec cat {} + | sort")
		}
		before := look()
		if r := a.sbx("run", "-c", "rm -rf src; echo x > n"); r.code != 0 {
			t.Fatal(r)
		}
		a.sh("echo mine > src")
		now := look()
		if r := a.landing(always, "undo", "--last"); r.code == 0 || look() != now {
			t.Errorf("without force: %v", r)
		}
		r := a.landing(always, "undo", "--last", "--force")
		if r.code != 0 || look() != before {
			t.Errorf("by force: %v\n%s\n---\n%s", r, look(), before)
		}
		if r := a.landing(always, "undo", strings.TrimSpace(r.out)); r.code != 0 || a.sh("cat src n") != "mine\nx\n" {
			t.Errorf("undone: %v\n%s", r, look())
		}
	})
}

// R-LY-01, R-OS-10: a command that writes more than its layer may hold is ended, and what it wrote is held; also what
// it wrote in many small files. One that stays below runs, whatever it wrote and removed meanwhile.
func TestLayersHaveALimit(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("[sandbox.limits]\nlayer = \"64MiB\"\nfile_size = \"32MiB\"\n")
		a.repository()
		before := a.everything()
		for _, line := range []string{
			"mkdir d; for i in $(seq 100); do head -c 4M /dev/zero > d/$i; sleep 0.02; done; sleep 60",
			"for i in $(seq 40); do mkdir -p t/$i; cp /usr/bin/bash t/$i/; cp /usr/bin/bash README; rm README; sleep 0.02; " +
				"done; for i in $(seq 50); do head -c 2M /dev/zero > t/$i/x; sleep 0.02; done; sleep 60",
		} {
			r := a.json("-c", line)
			if !slices.Contains(r.LimitsHit, "layer") || r.Status != 137 || a.everything() != before {
				t.Errorf("%s: %+v", line, r)
			}
			list := a.sbx("changes").out
			if !strings.Contains(list, "[sandbox.limits] layer") {
				t.Errorf("%s: held: %s", line, list)
			}
			if r := a.landing(always, "changes", "drop", heldID(list)); r.code != 0 {
				t.Fatal(r)
			}
		}
		below := a.json("-c", "for i in $(seq 40); do head -c 16M /dev/zero > f; rm f; sleep 0.02; done; echo x > e")
		if r := below; r.Status != 0 || len(r.LimitsHit) > 0 || a.sh("cat e") != "x\n" {
			t.Errorf("below the limit: %+v", r)
		}
	})
}

// R-LY-02: the project was moved while a command ran: its change set is held, with that reason, and lands once the
// project is back.
func TestLayersOfAMovedProject(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		wait := a.begin("run", "-c", "echo x > e; sleep 4.8643$((1))")
		eventually(t, "it runs", func() bool { return count("sleep 4.86431") > 0 })
		moved := a.project + "-moved"
		if err := os.Rename(a.project, moved); err != nil {
			t.Fatal(err)
		}
		r := wait()
		if err := os.Rename(moved, a.project); err != nil {
			t.Fatal(err)
		}
		if r.code != 126 || !strings.Contains(r.err, "its directory was moved or removed") {
			t.Errorf("%+v", r)
		}
		if r := a.landing(always, "changes", "land", heldID(r.err)); r.code != 0 || a.sh("cat e") != "x\n" {
			t.Errorf("landed: %v", r)
		}
	})
}

// R-LY-02, R-LY-05: a socket that a command leaves does not land and keeps nothing else from landing, like a FIFO, and
// a socket of the project is removed with what is around it.
func TestLayersOfSockets(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		const bind = `python3 -c 'import socket, sys; [socket.socket(1).bind(s) for s in sys.argv[1:]]' `
		a.sh("mkdir -p served/deep; " + bind + "served/s served/deep/s; echo x > served/f")
		r := a.sbx("run", "-c", bind+"here.sock new.sock; mkdir -p d/e; "+bind+"d/e/s; mkfifo d/pipe\n"+
			"echo r > out; echo s > d/f")
		if r.code != 0 || a.sh("cat out d/f; find . -type s -o -type p | sort") != "r\ns\n./served/deep/s\n./served/s\n" {
			t.Errorf("a command that leaves sockets: %v", r)
		}
		for _, name := range []string{"here.sock", "d/e/s", "d/pipe"} {
			if !strings.Contains(r.err, name) {
				t.Errorf("%s is not named: %v", name, r)
			}
		}
		if r := a.sbx("run", "-c", "rm -r served"); r.code != 0 || a.there("served") {
			t.Errorf("rm of a directory with sockets: %v", r)
		}
		if r := a.landing(always, "undo", "--last"); r.code != 0 || a.sh("cat served/f") != "x\n" {
			t.Errorf("undo: %v", r)
		}
		a.noLayers()
	})
}
