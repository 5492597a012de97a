package git

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Use is one setting or hook by which a reading command of git would run a program.
type Use struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // the file, or the directory of a hook
	// Only lists the sub-commands that run it; empty is every one.
	Only []string `json:"only,omitempty"`
	// Quieted reports that [Forced] keeps it from being run.
	Quieted bool `json:"quieted,omitempty"`
}

// Forced are settings under which no reading command runs a program that only another key of the repository names, or
// runs git in a submodule that the index does not have. They are given by environment (git-config(1),
// GIT_CONFIG_COUNT), which wins over every file.
var Forced = [][2]string{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"log.showSignature", "false"}, {"log.diffMerges",
		"separate"},
	{"safe.bareRepository", "explicit"}, {"diff.submodule", "short"}, {"status.submoduleSummary", "false"},
	{"gpg.program", "/bin/false"}, {"gpg.openpgp.program", "/bin/false"}, {"gpg.x509.program", "/bin/false"},
	{"gpg.ssh.program", "/bin/false"},
}

// shows are the sub-commands that show differences.
var shows = []string{"diff", "log", "show", "format-patch", "whatchanged", "stash", "reflog", "diff-tree", "diff-index",
	"diff-files",
	"range-diff", "format-patch", "blame", "annotate", "grep", "cat-file"}

// logs are the sub-commands that show commits.
var logs = []string{"log", "show", "format-patch", "whatchanged", "reflog", "stash", "shortlog", "rev-list",
	"diff-tree"}

// sorts are the sub-commands that list references.
var sorts = []string{"branch", "tag", "for-each-ref"}

// verifies finds the parts that show a signature in a format; a sign between % and G only adds or drops a blank or a
// line's end.
var verifies = regexp.MustCompile(`%[-+ ]?G|signature`)

// Verifies reports whether a format or a sort key makes git verify signatures, with a program.
func Verifies(format string) bool { return verifies.MatchString(format) }

// Uses returns the settings in force by which a reading command runs a program, drivers of attributes aside. Every
// value counts, not only the last: an include whose condition does not hold may be the one that takes a program back.
func (r Reader) Uses(repo Repository, settings []Setting) []Use {
	var out []Use
	for _, s := range settings {
		add := func(only []string, quieted bool) {
			out = append(out, Use{Key: s.Key(), Value: clip(s.Value), Origin: s.File, Only: only, Quieted: quieted})
		}
		switch key := s.Section + "." + s.Name; {
		case key == "core.fsmonitor" && !boolean(s):
			add(nil, false)
		case key == "diff.external" && s.Value != "":
			add(shows, false)
		case key == "core.worktree" && !r.leadsTo(s, repo):
			add(nil, false)
		case key == "log.showsignature" && !isFalse(s):
			add(logs, false)
		case (s.Section == "pretty" || key == "format.pretty") && Verifies(s.Value):
			add(logs, false)
		case (key == "branch.sort" || key == "tag.sort") && Verifies(s.Value):
			add(sorts, false)
		case key == "diff.submodule" && s.Value != "short" && s.Value != "log":
			add(shows, false)
		case key == "status.submodulesummary" && !isFalse(s):
			add([]string{"status"}, true)
		case key == "log.diffmerges" && (s.Value == "r" || s.Value == "remerge"):
			add(logs, true) // with -m it merges again, with the merge drivers
		case key == "extensions.partialclone", key == "remote.promisor" && !isFalse(s), key == "remote.partialclonefilter":
			// A missing object is fetched, with the program that the remote's address names.
			add(nil, false)
		case s.Section == "alias" && strings.EqualFold(orElse(s.Sub, s.Name), "whatchanged"):
			// Git's own commands go before aliases, but git 3.0 has this one no longer (git's BreakingChanges).
			add([]string{"whatchanged"}, false)
		case key == "core.alternaterefscommand":
			add([]string{"rev-list", "for-each-ref"}, false)
		case (key == "core.pager" || s.Section == "pager") && !boolean(s) && repo.holds(s.File):
			add(nil, true)
		}
	}
	return append(out, r.hooks(repo, settings)...)
}

// hooks returns the one hook that commands run which only read: they write the index where the times of files have
// changed (githooks(5), post-index-change).
func (r Reader) hooks(repo Repository, settings []Setting) []Use {
	var out []Use
	for _, dir := range r.HookDirs(repo, settings) {
		hook := path.Join(dir, "post-index-change")
		if _, err := stat(r.Host, hook); err == nil {
			out = append(out, Use{Key: "hook post-index-change", Value: clip(hook), Origin: dir, Quieted: true})
		}
	}
	return out
}

// HookDirs returns the directories in which git may look for the hooks of a repository.
func (r Reader) HookDirs(repo Repository, settings []Setting) []string {
	if repo.Dir == "" {
		return nil
	}
	dirs := []string{path.Join(repo.Common, "hooks")}
	for _, s := range settings {
		if s.Section == "core" && s.Name == "hookspath" && s.Value != "" {
			dir := s.Value
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = path.Join(r.Home, below)
			} else if !path.IsAbs(dir) {
				dir = path.Join(orElse(repo.Worktree, repo.Dir), dir)
			}
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// leadsTo reports whether core.worktree names the work tree that was found anyway, as it does in submodules.
func (r Reader) leadsTo(s Setting, repo Repository) bool {
	to := s.Value
	if !path.IsAbs(to) {
		to = repo.Dir + "/" + to
	}
	real, missing, err := Resolve(r.Host, to)
	return err == nil && !missing && real == repo.Worktree
}

// boolean reports whether git reads a value as true or false, so that it names no program. core.fsmonitor = true
// starts git's own daemon, which Forced switches off.
func boolean(s Setting) bool {
	if s.Bare {
		return true
	}
	switch strings.ToLower(s.Value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	_, err := strconv.Atoi(s.Value)
	return err == nil
}

func isFalse(s Setting) bool {
	return !s.Bare && slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(s.Value))
}

func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
