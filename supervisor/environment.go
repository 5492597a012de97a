package supervisor

import (
	"cmp"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox"
	"sandboxd/secret"
	"sandboxd/shell"
	"sandboxd/shell/analysis"
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
func (s *Supervisor) homeFiles(sess *Session, effective profile.Profile) (files []sandbox.File) {
	for _, f := range s.personalGit(sess) {
		kind, access, _ := effective.Effective(f.Name)
		if kind != profile.Private || !access.Has(profile.Write) {
			return nil // a mount of the profile's own is there
		}
		files = append(files, sandbox.File{Path: f.Name, Data: f.Data})
	}
	return files
}

// personalGit is the person's own git configuration as commands get it. Conditions on
// remotes are decided by those that the project had when it was trusted, and nothing comes from a file in a project:
// commands write both.
func (s *Supervisor) personalGit(sess *Session) []git.CopiedFile {
	projects := []string{sess.Root}
	for _, t := range s.Trust.List(sess.Peer.UID) {
		projects = append(projects, t.Dir)
	}
	trust, _ := s.Trust.find(sess.Peer.UID, sess.Root)
	return git.Personal{Host: git.Disk, Home: sess.Home, Remotes: trust.Remotes, Secret: secret.Name,
		Foreign: func(name string) bool {
			return slices.ContainsFunc(projects, func(dir string) bool { return dir != "" && abspath.Contains(dir, name) })
		}}.Copy()
}

// unsigned is what a command's result says that makes commits where the person signs theirs.
var unsigned = Violation{Kind: "altered", Op: "sign", Object: "commits", Count: 1,
	Rule: "those made inside are not signed, as a sandbox has no key",
	Hint: "to sign the last one outside: git commit --amend --no-edit -S; where git fails for that: " +
		"git -c commit.gpgsign=false commit"}

// tellUnsigned says once in a session that commits are not signed, where git's words make some that would be.
func (e *Exec) tellUnsigned(j *judgement, r *Result) {
	commits := func(c *analysis.Call) bool {
		argv, _ := c.Argv()
		if len(argv) < 2 || path.Base(argv[0]) != "git" {
			return false
		}
		verb := gitVerb(argv[1:])
		return len(verb) > 0 && slices.Contains(committing, verb[0])
	}
	if slices.ContainsFunc(j.script().Calls, commits) && git.Signs(git.Disk, e.Session.Home, e.Session.Root) &&
		e.Session.first(unsigned.Rule) {
		r.Violations = append(r.Violations, unsigned)
	}
}

// committing are git's commands that make commits or tags.
var committing = strings.Fields("commit merge pull rebase cherry-pick revert am tag")
