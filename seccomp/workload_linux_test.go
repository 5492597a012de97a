//go:build cgo

package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sandboxd/profile"
)

// A workload is what people run; it prints WORKS when all of it did.
type workload struct {
	name  string
	needs []string
	files map[string]string
	argv  []string
}

var workloads = []workload{
	{name: "shell", needs: []string{"bash"}, argv: []string{"bash", "-ec", `
		seq 1 1000 | sort -rn | head -1 | grep -qx 1000
		(exit 3) || [ $? = 3 ]
		mkfifo p; echo x > p & cat p; wait
		mkdir -p a/b; touch a/b/f; mv a/b c; cp -a c d; ln -s c e; chmod 750 c; touch -d yesterday c/f; rm -rf c d e
		exec 9> lock; flock 9; sleep 0.01; echo WORKS`}},
	{name: "terminal", needs: []string{"script"},
		argv: []string{"script", "-qec", "stty size; tty; echo WORKS", "/dev/null"}},
	{name: "archives", needs: []string{"tar", "gzip"}, argv: []string{"bash", "-ec", `
		mkdir in; echo x > in/f; ln in/f in/g; tar czf a.tgz in; mkdir out; tar xzf a.tgz -C out; cmp in/f out/in/g; echo WORKS`}},
	{name: "c", needs: []string{"gcc", "make"}, files: map[string]string{
		"Makefile": "t: t.c\n\tgcc -O1 -pthread -o t t.c\n",
		"t.c": `#include <pthread.h>
#include <stdio.h>
static void *run(void *a) { return a; }
int main(void) { pthread_t t; void *r; pthread_create(&t, 0, run, "WORKS"); pthread_join(t, &r); puts(r); return 0; }
`}, argv: []string{"bash", "-ec", "make -j2 && ./t"}},
	{name: "git", needs: []string{"git"}, argv: []string{"bash", "-ec", `
		git init -q r; cd r; git config user.email a@b; git config user.name a
		echo 1 > f; git add f; git commit -qm one; git switch -qc side; echo 2 > f; git commit -qam two
		git switch -q -; git merge -q side; git gc -q; git clone -q . ../s; git status --short; git log --oneline | grep -q two; echo WORKS`}},
	{name: "python", needs: []string{"/usr/bin/python3"}, files: map[string]string{"t.py": `
import asyncio, concurrent.futures as cf, multiprocessing as mp, os, socket, subprocess, tempfile, threading

def square(x): return x * x

if __name__ == "__main__":
    for how in "fork", "spawn", "forkserver":
        with mp.get_context(how).Pool(2) as pool: assert pool.map(square, range(4)) == [0, 1, 4, 9], how
    with mp.Manager() as m: assert m.list([1])[0] == 1
    q = mp.Queue(); q.put(1); assert q.get() == 1
    with cf.ProcessPoolExecutor(2) as e: assert list(e.map(square, [2])) == [4]
    assert subprocess.run(["echo", "x"], capture_output=True, start_new_session=True).stdout == b"x\n"
    a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
    async def sub():
        p = await asyncio.create_subprocess_exec("true"); return await p.wait()
    assert asyncio.run(sub()) == 0
    t = threading.Thread(target=square, args=(1,)); t.start(); t.join()
    with tempfile.TemporaryFile() as f: f.write(b"x")
    pid = os.posix_spawn("/bin/true", ["true"], {}); os.waitpid(pid, 0)
    print("WORKS")
`}, argv: []string{"/usr/bin/python3", "t.py"}},
	{name: "node", needs: []string{"node"}, files: map[string]string{"t.js": `
const cp = require('child_process'), assert = require('assert'), os = require('os'), fs = require('fs');
if (process.argv[2] === 'child') { process.on('message', m => { process.send(m + 1); process.disconnect(); }); return; }
assert.equal(cp.spawnSync('cat', { input: 'x' }).stdout.toString(), 'x');
assert.equal(cp.execSync('echo y').toString(), 'y\n');
assert.equal(cp.spawnSync('sh', ['-c', 'exit 3'], { stdio: ['pipe', 'pipe', 'inherit'] }).status, 3);
os.networkInterfaces(); os.cpus(); fs.watch('.').close();
const { Worker } = require('worker_threads');
const child = cp.fork(__filename, ['child']);
child.send(1);
child.on('message', m => { assert.equal(m, 2);
  const w = new Worker('require("worker_threads").parentPort.postMessage(5)', { eval: true });
  w.on('message', v => { assert.equal(v, 5); fs.promises.readFile(__filename).then(() => console.log('WORKS')); }); });
`}, argv: []string{"node", "t.js"}},
	{name: "java", needs: []string{"javac"}, files: map[string]string{"T.java": `
public class T {
	public static void main(String[] a) throws Exception {
		Thread t = new Thread(() -> System.gc()); t.start(); t.join();
		if (new ProcessBuilder("sh", "-c", "exit 3").start().waitFor() != 3) throw new Error();
		java.nio.file.Files.walk(java.nio.file.Path.of(".")).count();
		System.out.println("WORKS");
	}
}`}, argv: []string{"bash", "-ec", "javac T.java && java T"}},
	{name: "go", needs: []string{"go"}, files: map[string]string{
		"go.mod": "module t\n\ngo 1.21\n",
		"t_test.go": `package t
import ("os"; "os/exec"; "testing")
func TestIt(t *testing.T) {
	if err := exec.Command("true").Run(); err != nil { t.Fatal(err) }
	if _, err := os.MkdirTemp(t.TempDir(), ""); err != nil { t.Fatal(err) }
}
`}, argv: []string{"bash", "-ec", "GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=${SHARED:-$HOME/cache} go test -vet=off . && echo WORKS"}},
}

var online = []workload{
	{name: "curl", needs: []string{"curl", "/usr/bin/python3"}, argv: []string{"bash", "-ec", `
		echo WORKS > f; /usr/bin/python3 -u -m http.server 0 --bind 127.0.0.1 > log 2>&1 & server=$!
		trap "kill $server" EXIT
		until grep -q port log; do sleep 0.05; done
		port=$(sed 's/.*port \([0-9]*\).*/\1/' log); curl -s "http://127.0.0.1:$port/f"`}},
	{name: "node server", needs: []string{"node"}, files: map[string]string{"t.js": `
const http = require('http'), dgram = require('dgram');
const s = http.createServer((q, r) => r.end('WORKS')).listen(0, '127.0.0.1', () =>
  http.get({ port: s.address().port, host: '127.0.0.1' }, r => { r.pipe(process.stdout); r.on('end', () => s.close()); }));
const u = dgram.createSocket('udp4'); u.bind(0, '127.0.0.1', () => u.close());
`}, argv: []string{"node", "t.js"}},
	{name: "go server", needs: []string{"go"}, files: map[string]string{
		"go.mod": "module t\n\ngo 1.24\n",
		"main.go": `package main
import ("fmt"; "net")
func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0") // asks for multipath TCP first
	if err != nil { panic(err) }
	go func() { c, _ := l.Accept(); c.Write([]byte("WORKS")); c.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil { panic(err) }
	if _, err := net.Interfaces(); err != nil { panic(err) }
	b := make([]byte, 5); c.Read(b); fmt.Println(string(b))
}
`}, argv: []string{"bash", "-ec", "GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=${SHARED:-$HOME/cache} go run ."}},
}

func (w workload) try(t *testing.T, filter []byte, uid int, env ...string) {
	t.Helper()
	for _, program := range w.needs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Errorf("%v", err)
			}
			t.Logf("NOT TRIED: %v", err)
			return
		}
	}
	c := newCage(t, filter, uid)
	for name, text := range w.files {
		c.write(name, text)
	}
	cmd := c.command(w.argv...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "WORKS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Acceptance 4: what people run works, as root and as an ordinary user, without a network, and with their own.
func TestWorkloads(t *testing.T) {
	cache := newCage(t, nil, users()[len(users())-1]).dir // one build cache, for go
	for _, uid := range users() {
		env := "SHARED="
		if uid != 0 {
			env += cache
		} else if home, err := os.UserCacheDir(); err == nil {
			env += home + "/go-build"
		}
		for _, w := range workloads {
			t.Run(fmt.Sprint(w.name, " uid ", uid), func(t *testing.T) { w.try(t, filterOf(t, profile.NetNone), uid, env) })
		}
		for _, w := range online {
			t.Run(fmt.Sprint(w.name, " uid ", uid), func(t *testing.T) { w.try(t, filterOf(t, profile.NetLoopback), uid, env) })
		}
	}
}

// Browsers and the like ask for namespaces of their own; refused them, they see EPERM and can
// continue without. A child that is traced needs the group "debug".
func TestRefusedWorkloads(t *testing.T) {
	for _, uid := range users() {
		filter := filterOf(t, profile.NetNone)
		if out, err := newCage(t, filter, uid).run("unshare", "-Ur", "true"); err == nil ||
			!strings.Contains(out, "Operation not permitted") {
			t.Errorf("unshare: %v, %s", err, out)
		}
		debug := filterOf(t, profile.NetNone, profile.SyscallsDebug)
		const gdb = `gdb -nx -batch -ex run /bin/true 2>&1 | grep -q "exited normally" && echo WORKS`
		workload{needs: []string{"gdb"}, argv: []string{"bash", "-c", gdb}}.try(t, debug, uid)
		if out, _ := newCage(t, filter, uid).run("bash", "-c", gdb); strings.Contains(out, "WORKS") {
			t.Errorf("gdb without its group: %s", out)
		}
		// The leak sanitizer traces its own threads.
		leak := workload{needs: []string{"gcc"}, files: map[string]string{"t.c": "#include <stdlib.h>\nint main(void) { " +
			"char *volatile p = malloc(10); p = 0; return p != 0; }\n"},
			argv: []string{"bash", "-c", `gcc -fsanitize=address t.c && ./a.out 2>&1 | grep -q "10 byte(s) leaked" && echo WORKS`}}
		leak.try(t, debug, uid)
		leak.argv[2] = `gcc -fsanitize=address t.c && ASAN_OPTIONS=detect_leaks=0 ./a.out && gcc -fsanitize=thread t.c && ./a.out && echo WORKS`
		leak.try(t, filter, uid)
	}
}

// No filter sees the mode of openat2; this is why that does no harm: a set-user-ID file can be made, and loses the bit
// with its first byte, whichever way that comes.
func TestSetIDIsLostOnWrite(t *testing.T) {
	script := `
import ctypes, os
libc = ctypes.CDLL(None)
def make(name):
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_RDWR, 0o6755, 0)
    return libc.syscall(437, -100, name.encode(), how, 24)
def ways(fd):
    yield lambda: os.write(fd, b"x")
    yield lambda: os.ftruncate(fd, 4096)
    yield lambda: os.posix_fallocate(fd, 0, 4096)
    yield lambda: os.copy_file_range(os.open("src", os.O_RDONLY), fd, 1)
    yield lambda: os.sendfile(fd, os.open("src", os.O_RDONLY), 0, 1)
open("src", "w").write("x")
for n in range(5):
    fd = make("f%d" % n)
    assert os.fstat(fd).st_mode & 0o6000 == 0o6000, n
    list(ways(fd))[n]()
    assert os.fstat(fd).st_size and not os.fstat(fd).st_mode & 0o4000, n
print("WORKS")
`
	w := workload{needs: []string{"/usr/bin/python3"}, argv: []string{"/usr/bin/python3", "-c", script}}
	w.try(t, filterOf(t, profile.NetNone), users()[len(users())-1])
}
