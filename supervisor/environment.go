package supervisor

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// always are the variables that every command under profile p gets, unless
// the profile or the request says otherwise.
func (s *Session) always(p profile.Profile) map[string]string {
	env := map[string]string{
		"PATH": searchPath, "HOME": s.Home, "USER": s.User, "LOGNAME": s.User,
		"SHELL": shellPath(), "TMPDIR": "/tmp", "LANG": "C.UTF-8", "SBX_SANDBOX": "1",
	}
	maps.Copy(env, withoutUpkeep)
	if p.Network().Mode < profile.NetAllowlist {
		maps.Copy(env, withoutRetries)
	}
	return env
}

// Always names the variables that every command of the session under profile
// p gets besides those that p names, sorted.
func (s *Session) Always(p profile.Profile) []string { return slices.Sorted(maps.Keys(s.always(p))) }

// withoutUpkeep has git start no gc beside a command (git(1), GIT_CONFIG_COUNT): it would end with the sandbox, and its
// lock, which lands, would keep the person's own git from ever collecting garbage. That git does it outside.
var withoutUpkeep = map[string]string{
	"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "0",
	"GIT_CONFIG_KEY_1": "maintenance.auto", "GIT_CONFIG_VALUE_1": "false",
}

// withoutRetries are for commands that reach no other host: npm would try for 70 seconds (config.md, fetch-retries).
var withoutRetries = map[string]string{
	"npm_config_fetch_retries": "0", "PIP_RETRIES": "0", "CARGO_NET_RETRY": "0", "UV_HTTP_RETRIES": "0",
}

// environment composes the variables inside: ours, then those of the daemon's that the profile
// passes or those that it sets, then the request's (which a
// person could see), then those that an unasked command must have.
func (s *Supervisor) environment(sess *Session, j *judgement, p profile.Profile) []string {
	env := sess.always(p)
	passed, _ := p.Environment().Apply(os.Environ())
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
func homeFiles(sess *Session, effective profile.Profile) []sandbox.File {
	path := filepath.Join(sess.Home, ".gitconfig")
	if kind, access, _ := effective.Effective(path); kind != profile.Private || !access.Has(profile.Write) {
		return nil // a mount of the profile's own is there
	}
	if data := gitConfig(sess.Home); len(data) > 0 {
		return []sandbox.File{{Path: path, Data: data}}
	}
	return nil
}

// gitConfig copies the person's own git configuration without credential
// helpers, tokens, includes, and programs that talk to other hosts. A file that
// [git.ParseConfig] refuses is not carried over; git inside starts without it.
func gitConfig(home string) []byte {
	var portable []git.Setting
	for _, name := range []string{".config/git/config", ".gitconfig"} {
		text, _ := git.Disk.ReadFile(filepath.Join(home, name), 1<<20)
		settings, _ := git.ParseConfig(text)
		for _, s := range settings {
			if git.Portable(s, secret.Name) {
				portable = append(portable, s)
			}
		}
	}
	return git.FormatConfig(portable)
}
