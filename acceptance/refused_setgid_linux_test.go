package acceptance

import (
	"strings"
	"testing"
)

// R-OS-06, R-LY-05: a directory gets the set-group-ID bit by every call that can set it, on a layer and in a direct
// run, and keeps it; undo brings it back. No file of the host has it or the set-user-ID bit ever, whichever call asks
// for it, also where another process changes what its path leads to, and what is read-only or somebody else's has no
// other mode afterwards.
func TestSetGroupID(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		listed := a.dir + "/listed"
		for _, kind := range []struct{ name, config string }{
			{"layer", "backend = \"" + overlays + "\"\nlayers = \"auto\""}, {"direct", "backend = \"native\"\nlayers = \"off\""},
			{"bubblewrap", "backend = \"bwrap\"\nlayers = \"off\""},
		} {
			a.sh("chmod 755 . && chmod g-s . && rm -rf * " + listed + "; mkdir " + listed + " keep; chmod 2775 keep\n" +
				"mkdir -p .git/hooks; echo x > tool; chmod 755 tool")
			a.configured("[sandbox]\n"+kind.config+"\nread = [\""+listed+"\"]\n", "--mode", "approve-all")
			if r := a.sbx("trust"); r.code != 0 {
				t.Fatal(r)
			}
			r := a.sbx("run", "--json", "--", "/usr/bin/python3", "-c", setGroupIDs, listed)
			if r.code != 0 || !strings.Contains(r.out, "ended") {
				t.Errorf("%s: %v", kind.name, r)
			}
			if !strings.Contains(r.out, "set-group-ID") || !strings.Contains(r.out, "set-user-ID") {
				t.Errorf("%s: nothing of what was refused: %v", kind.name, r)
			}
			got := a.sh("find * -type d -printf '%p %m\\n' | sort; find . -type f -perm /6000; stat -c %a .git/hooks " + listed)
			first := `at 2775
at/deep 2775
by 2775
chmod 2775
fchmod 2700
git 755
`
			last := "\nkeep 2775\nkeep/sub 2755\nlibc 2775\nmade 2775\nrace 755\nrace/d 2755\n755\n755\n"
			if !strings.HasPrefix(got, first) || !strings.HasSuffix(got, last) {
				t.Errorf("%s: the host has\n%s", kind.name, got)
			}
			if bits := a.sh("stat -c %a git/.git/refs git/.git/objects"); !strings.HasPrefix(bits, "2") {
				t.Errorf("%s: git init --shared: %s", kind.name, bits)
			}
			a.sh("chmod g+s .")
			r = a.sbx("run", "-c", "rm -r keep; mkdir sub")
			if r.code != 0 || strings.Contains(r.err, "undo lacks") || a.there("keep") {
				t.Errorf("%s: rm: %v", kind.name, r)
			}
			undo := a.landing(always, "undo", "--last")
			if modes := a.sh("stat -c %a keep keep/sub . | xargs"); undo.code != 0 || modes != "2775 2755 2755\n" {
				t.Errorf("%s: undo: %v %s", kind.name, undo, modes)
			}
			a.stop()
		}
	})
}

// setGroupIDs asks for set-ID bits by every call that takes a mode.
const setGroupIDs = `
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(call, *args, **named):
    try:
        call(*args, **named)
    except OSError as e:
        assert e.errno in (1, 30), (call, args, e)  # EPERM, EROFS
    else:
        raise SystemExit("not refused: %s %s" % (call, args))
def system(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), str(number))

os.mkdir("keep/sub"); open("keep/sub/f", "w").close()
os.mkdir("chmod"); os.chmod("chmod", 0o2775)
os.mkdir("fchmod"); fd = os.open("fchmod", os.O_RDONLY); os.fchmod(fd, 0o2700)
os.mkdir("at"); os.mkdir("at/deep")
at = os.open("at", os.O_PATH); libc.fchmodat(at, b"deep", 0o2775, 0); libc.fchmodat(at, b"../at", 0o2775, 0)
os.mkdir("by"); os.symlink("/proc/self/cwd/by", "link"); os.unlink("link")
os.symlink(os.getcwd() + "/by", "link"); os.chmod("link", 0o2775); os.unlink("link")
os.mkdir("made"); fd = os.open("made", os.O_PATH); system(452, fd, b"", 0o2775, 0x1000)
subprocess.run(["mkdir", "-m", "2775", "libc"], check=True)
subprocess.run(["git", "init", "-q", "--shared=group", "git"], check=True)

os.chown("tool", os.getuid(), -1); os.chown("tool", -1, os.getgid())
refused(os.chown, "tool", 4242, -1); refused(os.lchown, "tool", -1, 4242); refused(os.fchown, at, 4242, 4242)
refused(os.chmod, "chmod", 0o6775); refused(os.chmod, "chmod", 0o4775)
refused(os.chmod, sys.argv[1], 0o2777); refused(os.chmod, "/usr", 0o2755); refused(os.chmod, "/etc", 0o2755)
if os.path.ismount(".git/hooks"):
    refused(os.chmod, ".git/hooks", 0o2755)
layer = open("/proc/self/mountinfo").read().find("- overlay ") >= 0
if layer: os.chmod("tool", 0o2755)  # lands without the bit
else: refused(os.chmod, "tool", 0o2755)
refused(os.chmod, "tool", 0o4755)
tool = os.open("tool", os.O_RDONLY); refused(os.fchmod, tool, 0o4755)
for mode in 0o2755, 0o4755, 0o6755:
    refused(os.open, "new", os.O_CREAT | os.O_WRONLY, mode)
    refused(os.open, ".", os.O_TMPFILE | os.O_WRONLY, mode)
    refused(os.mknod, "new", 0o100000 | mode)
    refused(os.mknod, "new", mode)
    refused(system, 85, b"new", mode)
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)
    refused(system, 437, -100, b"new", how, 24)
# Another process changes what the names lead to, meanwhile.
os.makedirs("race/d"); open("race/f", "w").write("x"); os.symlink("d", "race/l"); os.symlink(sys.argv[1], "race/m")
swap = os.fork()
while swap == 0:
    libc.renameat2(-100, b"race/d", -100, b"race/f", 2)
    libc.renameat2(-100, b"race/l", -100, b"race/m", 2)
changed = 0
for n in range(3000):
    for name in "race/d", "race/f", "race/l", "race/m":
        try: os.chmod(name, 0o2755)
        except OSError: continue
        changed += 1
assert changed, "none of the races succeeded"
os.kill(swap, 9); os.waitpid(swap, 0)
if os.path.isdir("race/f"): os.rename("race/f", "race/g"); os.rename("race/d", "race/f"); os.rename("race/g", "race/d")
os.remove("race/l"); os.remove("race/m"); os.chmod("race/d", 0o2755); os.chmod("race", 0o755)
try: libc.syscall(90, b"/proc/self/fd/%d" % tool, 0o4755)
finally: print("ended")
`
