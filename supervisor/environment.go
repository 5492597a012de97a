package supervisor

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/sandbox"
	"sandboxd/secret"
	"sandboxd/shell"
)

// searchPath is the value of PATH inside, unless the configuration sets it.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commandOf is the command that executes for a judgement: unasked, our own
// writing of the analysed words; after a question, the shown text.
func (s *Supervisor) commandOf(sess *Session, j *judgement, p profile.Profile) sandbox.Command {
	c := sandbox.Command{Dir: cmp.Or(j.command.Cwd, sess.Root, "/"), Env: s.environment(sess, j, p)}
	run := shell.Execution{Argv: j.command.Argv}
	if j.verdict.Decision == shell.Auto {
		run = j.verdict.Run
	} else if j.command.Line != "" {
		run = shell.Execution{Script: j.command.Line}
	}
	if run.Script == "" {
		c.Argv = run.Argv
		return c
	}
	c.Path = shellPath()
	c.Argv = []string{"bash", "--noprofile", "--norc", "-c", run.Script}
	if filepath.Base(c.Path) != "bash" {
		c.Argv = []string{"sh", "-c", run.Script}
	}
	return c
}

// personsPath is the PATH of the person that started the daemon. The daemon itself searches the system's only.
func personsPath() []string {
	return filepath.SplitList(cmp.Or(os.Getenv("SBX_SEARCH_PATH"), os.Getenv("PATH")))
}

// shellPath is bash, or the system's sh where there is none.
func shellPath() string {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "/bin/sh"
}

// always are the variables that every command gets, unless the profile or the
// request says otherwise.
func (s *Session) always() map[string]string {
	return map[string]string{
		"PATH": searchPath, "HOME": s.Home, "USER": s.User, "LOGNAME": s.User,
		"SHELL": shellPath(), "TMPDIR": "/tmp", "LANG": "C.UTF-8", "SBX_SANDBOX": "1",
	}
}

// Always names the variables that every command of the session gets besides
// those of its profile, sorted.
func (s *Session) Always() []string { return slices.Sorted(maps.Keys(s.always())) }

// environment composes the variables inside: ours, then those of the daemon's that the profile
// passes or those that it sets, then the request's (which a
// person could see), then those that an unasked command must have.
func (s *Supervisor) environment(sess *Session, j *judgement, p profile.Profile) []string {
	env := sess.always()
	passed, ok := s.passed.get(p.Digest())
	if !ok { // the daemon's own variables don't change
		passed, _ = p.Environment().Apply(os.Environ())
		s.passed.put(p.Digest(), passed)
	}
	for _, kv := range passed {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	maps.Copy(env, j.reach.variables())
	maps.Copy(env, j.command.Env)
	if j.verdict.Decision == shell.Auto {
		for _, name := range j.verdict.Unset {
			delete(env, name)
		}
		maps.Copy(env, j.verdict.Env)
	}
	if _, chosen := env["GIT_CONFIG_GLOBAL"]; !chosen && !s.privateHome() {
		// access(2) says that the person's file can be read and open(2) refuses
		// it, which git takes for a broken configuration (config.c).
		env["GIT_CONFIG_GLOBAL"] = "/dev/null"
	}
	if j.command.TTY && j.command.Env["TERM"] == "" {
		env["TERM"] = "xterm-256color" // the daemon's own says nothing of the caller's terminal
	}
	list := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		list = append(list, k+"="+env[k])
	}
	return list
}

// privateHome reports whether commands get a home directory of their own,
// which takes mounts.
func (s *Supervisor) privateHome() bool {
	return s.Host.Report().Namespaces().Active
}

// homeFiles are put into the private home directory, where the profile has one that can
// take them: the person's git configuration without the settings that grant access (R-OS-07).
func (s *Supervisor) homeFiles(sess *Session, effective profile.Profile) []sandbox.File {
	path := filepath.Join(sess.Home, ".gitconfig")
	if kind, access, _ := effective.Effective(path); kind != profile.Private || !access.Has(profile.Write) {
		return nil // a mount of the profile's own is there
	}
	if data := s.gitConfig(sess.Home); len(data) > 0 {
		return []sandbox.File{{Path: path, Data: data}}
	}
	return nil
}

// gitFiles is the copy of a person's git configuration, and the state of its sources.
type gitFiles struct {
	states [2]fileState
	data   []byte
}

// fileState distinguishes the states of a file. The zero value is no file.
type fileState struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds
}

// settled is how old a change must be before an equal state means an equal
// content: the clock of a file system ticks every few milliseconds.
const settled = 50 * time.Millisecond

// stateOfFile is the state of a regular file of at most 1 MiB, of which links are
// followed; anything else is no file.
func stateOfFile(name string) fileState {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > 1<<20 {
		return fileState{}
	}
	return fileState{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

func (f fileState) settled() bool { return time.Since(time.Unix(0, f.ctime)) > settled }

// gitConfig copies the person's own git configuration without credential
// helpers, tokens, includes, and programs that talk to other hosts. git itself
// reads the files; listing runs nothing that they name (git-config(1)). The copy is
// cached while the files are unchanged.
func (s *Supervisor) gitConfig(home string) []byte {
	files := [2]string{filepath.Join(home, ".config", "git", "config"), filepath.Join(home, ".gitconfig")}
	var now gitFiles
	sure := true
	for i, file := range files {
		now.states[i] = stateOfFile(file)
		sure = sure && now.states[i].settled()
	}
	if old, ok := s.gitFiles.get(home); ok && old.states == now.states {
		return old.data
	}
	var out strings.Builder
	for i, file := range files {
		if now.states[i] != (fileState{}) {
			copyGitConfig(&out, file)
		}
	}
	now.data = []byte(out.String())
	if sure {
		s.gitFiles.put(home, now)
	}
	return now.data
}

func copyGitConfig(out *strings.Builder, file string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/git", "config", "--file", file, "--no-includes", "--null", "--list")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + searchPath, "HOME=/", "LANG=C"}
	list, err := cmd.Output()
	if err != nil {
		return // a broken file is not carried over; git inside starts with none
	}
	var kept []git.Setting
	for _, entry := range strings.Split(string(list), "\x00") {
		key, value, hasValue := strings.Cut(entry, "\n")
		s, ok := git.ParseKey(key)
		if s.Value, s.Bare = value, !hasValue; ok && git.Portable(s, secret.Name) {
			kept = append(kept, s)
		}
	}
	out.Write(git.FormatConfig(kept))
}
