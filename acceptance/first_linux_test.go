package acceptance

import (
	"strings"
	"testing"
)

// A limit of a few processes is the command's: what the sandbox itself needs is not taken
// from it, and the first process of its namespace, a Go program, never meets it. R-OS-10
func TestFewProcesses(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.limited(`processes = 3`)
		for range 2 { // bash tries a refused fork(2) again after a second, then after two
			if r := a.json("-c", "printf 'a\\nb\\n' | sort -r | head -1"); r.Status != 0 || r.Stdout != "b\n" {
				t.Errorf("three processes: %+v", r)
			}
		}
		r := a.json("--", "python3", "-c", `
import os, time
n = 0
try:
    while n < 100:
        if os.fork() == 0: time.sleep(60)
        n += 1
except OSError: pass
print(2 <= n <= 12, n, flush=True)
os._exit(0)`)
		if !strings.HasPrefix(r.Stdout, "True ") {
			t.Errorf("many processes: %+v", r)
		}
	})
}

// The first process of the namespace holds the connection to the daemon, on which it reports the
// end of the command. The command can't read its memory, end it, or take its descriptors. R-OS-07
func TestFirstProcessIsOutOfReach(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAll()
		a.sbx("trust", a.project)
		script := `
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, f):
    try: f()
    except OSError: return
    print("not refused:", name)
def call(*args):
    if libc.syscall(*args) < 0: raise OSError(ctypes.get_errno(), "")
for name in "environ", "mem", "maps", "auxv", "stack", "syscall", "io":
    refused(name, lambda: open("/proc/1/" + name, "rb").read(1))
for name in "exe", "root", "cwd", "fd/5", "ns/mnt", "map_files":
    refused(name, lambda: os.readlink("/proc/1/" + name) if name != "map_files" else os.listdir("/proc/1/map_files"))
refused("reopen", lambda: os.open("/proc/1/fd/5", os.O_RDWR))
pidfd = os.pidfd_open(1)
for n in range(32):
    refused("pidfd_getfd %d" % n, lambda: call(438, pidfd, n, 0))
refused("ptrace", lambda: call(101, 16, 1, 0, 0)) # PTRACE_ATTACH
refused("seize", lambda: call(101, 0x4206, 1, 0, 0))
buf = ctypes.create_string_buffer(8)
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
mine = iovec(ctypes.addressof(buf), 8)
for address in 0x400000, 0xc000000000:
    its = iovec(address, 8)
    refused("process_vm_readv", lambda: call(310, 1, ctypes.byref(mine), 1, ctypes.byref(its), 1, 0))
    refused("process_vm_writev", lambda: call(311, 1, ctypes.byref(mine), 1, ctypes.byref(its), 1, 0))
for s in range(1, 65):
    try: os.kill(1, s)
    except OSError: pass
try: os.kill(-1, signal.SIGCONT)
except OSError: pass
if os.getppid() != 1: print("parent", os.getppid())
print("alive")
sys.stdout.flush()
os._exit(7)`
		if r := a.json("--", "python3", "-c", script); r.Status != 7 || r.Stdout != "alive\n" {
			t.Errorf("%+v", r)
		}
		// What it leaves behind dies with it, and its status is the command's own.
		if r := a.json("-c", "setsid sleep 86424 & exit 3"); r.Status != 3 {
			t.Errorf("%+v", r)
		}
		eventually(t, "nothing left behind", func() bool { return count("sleep 86424") == 0 })
	})
}
