package aftermath_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// On file systems that can't rename to free names only, such as NFS, the check removes what a command left
// nevertheless, folders too. A filter of system calls imitates one, in a process of its own.
func TestTrashWithoutFreeRenames(t *testing.T) {
	if os.Getenv("AFTERMATH_TEST_RENAMES") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTrashWithoutFreeRenames$")
		cmd.Env = append(os.Environ(), "AFTERMATH_TEST_RENAMES=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s%v", out, err)
		}
		return
	}
	b := newBench(t)
	b.sh("echo mine > AGENTS.md; ln -s NOTES CLAUDE.md")
	withoutFreeRenames(t)
	found := b.command("echo theirs > AGENTS.md; ln -sf evil CLAUDE.md; mkdir -m 750 .vscode; echo x > " +
		".vscode/tasks.json; ln -s y .vscode/link")
	b.expect(found, []string{".vscode", "AGENTS.md", "CLAUDE.md"},
		"grep -qx mine AGENTS.md; [ $(readlink CLAUDE.md) = NOTES ]; [ ! -e .vscode ]; [ -z \"$(ls -A | grep sandboxd)\" ]")
	b.sh("cd " + filepath.Join(b.trash, "x-1") +
		"; grep -qx x 001-.vscode/tasks.json; [ $(readlink 001-.vscode/link) = y ]; grep -qx theirs 002-AGENTS.md; [ " +
		"$(readlink 003-CLAUDE.md) = evil ]")
}

// withoutFreeRenames has renameat2(2) answer EINVAL to any flags, in this process from now on.
func withoutFreeRenames(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	const number, flags = 0, 16 + 4*8 // in struct seccomp_data (linux/seccomp.h), the lower half on little-endian machines
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: unix.SYS_RENAMEAT2},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); err != 0 {
		t.Fatal(err)
	}
}

// When the trash is on another file system, entries are copied there and removed, whatever
// the command has left to hinder that (R-FS-08).
func TestTrashOnAnotherFileSystem(t *testing.T) {
	for _, tt := range []struct {
		name, before, command string
		found                 []string
		check                 string
		trash                 string // must succeed in the run's folder of the trash
	}{
		{"a file and what was there", "echo mine > AGENTS.md", "echo theirs > AGENTS.md", []string{"AGENTS.md"},
			"grep -qx mine AGENTS.md", "grep -qx theirs 001-AGENTS.md"},
		{"a link", "", "ln -s evil AGENTS.md", []string{"AGENTS.md"}, "[ ! -L AGENTS.md ]",
			"[ $(readlink 001-AGENTS.md) = evil ]"},
		{"a link in a folder", "", "mkdir .vscode; ln -s evil .vscode/tasks.json; echo x > .vscode/settings.json",
			[]string{".vscode"}, "[ ! -e .vscode ]", "[ $(readlink 001-.vscode/tasks.json) = evil ]; grep -qx x " +
				"001-.vscode/settings.json"},
		{"temporary names", "", "echo x > AGENTS.md; touch .sandboxd-back", []string{"AGENTS.md"}, "[ ! -e AGENTS.md ]",
			"grep -qx x 001-AGENTS.md"},
		{"what can't be read", "git init -q .", "cp /bin/true .git/hooks/pre-commit; chmod 111 .git/hooks/pre-commit",
			[]string{".git/hooks/pre-commit"}, "[ ! -e .git/hooks/pre-commit ]", "cmp 001-pre-commit /bin/true"},
		{"a folder with its mode", "", "mkdir -m 750 .vscode; echo x > .vscode/tasks.json", []string{".vscode"},
			"[ ! -e .vscode ]", "[ $(stat -c %a 001-.vscode) = 750 ]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dir, err := os.MkdirTemp(otherFileSystem(t, b.project), "aftermath-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			b.trash = filepath.Join(dir, "trash")
			if tt.before != "" {
				b.sh(tt.before)
			}
			b.expect(b.command(tt.command), tt.found, tt.check)
			b.sh("cd " + filepath.Join(b.trash, "x-1") + "; " + tt.trash)
		})
	}
}

// otherFileSystem is a directory from which nothing can be renamed into the project.
func otherFileSystem(t *testing.T, project string) string {
	t.Helper()
	for _, dir := range []string{"/dev/shm", os.TempDir(), "/var/tmp"} {
		from, err := os.MkdirTemp(dir, "aftermath-")
		if err != nil {
			continue
		}
		defer os.RemoveAll(from)
		if err := os.Rename(from, filepath.Join(project, "moved")); err != nil {
			return dir
		}
		os.Remove(filepath.Join(project, "moved"))
	}
	t.Fatal("there is no other file system")
	return ""
}
