package git

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// installedKeys are the keys that the installed git knows, with "*" for what a person chooses.
func installedKeys(t *testing.T) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(run(t, "/", "help", "--config")) {
		key := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.TrimSpace(line), "*")
		if key != "" && !strings.ContainsAny(key, " '") {
			out = append(out, key)
		}
	}
	if len(out) < 700 {
		t.Fatalf("git help --config names only %d keys", len(out))
	}
	return out
}

// R-SH-03: every key that the installed git knows is in the one list.
func TestEveryKeyOfGitIsClassified(t *testing.T) {
	for _, key := range installedKeys(t) {
		s, ok := ParseKey(strings.ReplaceAll(key, "*", "any"))
		if !ok || KindOf(s) == Unknown {
			t.Errorf("%s: not in the list of keys", key)
		}
	}
}

// R-SH-03: a key whose manual says that it is a program or a command is none of the harmless ones.
func TestNoProgramIsHarmless(t *testing.T) {
	program := regexp.MustCompile(`(?i)(command|cmd|program|helper|editor|pager|askpass|` +
		`textconv|driver|clean|smudge|process|hook|proxy` +
		`|external|viewer|browser|httpd|uploadpack|receivepack|vcs)$`)
	known := []string{"advice.ignoredhook", "advice.waitingforeditor", "color.pager", "column.clean"} // switches
	for _, key := range installedKeys(t) {
		s, _ := ParseKey(strings.ReplaceAll(key, "*", "any"))
		if program.MatchString(s.Name) && KindOf(s) == Harmless && !slices.Contains(known, strings.ToLower(key)) {
			t.Errorf("%s is harmless", key)
		}
	}
}

// A new key of a section that git's scripts in sh, Perl or Tcl read is not harmless.
func TestKeysOfScriptsAreUnknown(t *testing.T) {
	for _, section := range []string{"mergetool", "difftool", "guitool", "gitweb", "completion", "bash", "browser", "man",
		"instaweb", "gui", "gitk", "sendemail", "svn", "svn-remote", "gitcvs", "git-p4"} {
		for _, key := range []string{section + ".nosuch", section + ".any.nosuch"} {
			if s, _ := ParseKey(key); KindOf(s) == Harmless {
				t.Errorf("%s is harmless", key)
			}
		}
	}
	for key, want := range map[string]Kind{"mergetool.vimdiff.layout": Program, "mergetool.nvimdiff.layout": Program,
		"mergetool.meld.useAutoMerge": Harmless, "mergetool.x.trustExitCode": Harmless, "guitool.x.confirm": Harmless,
		"gitweb.owner": Harmless} {
		if s, _ := ParseKey(key); KindOf(s) != want {
			t.Errorf("%s is %v, want %v", key, KindOf(s), want)
		}
	}
}

// The list names each key once.
func TestKeysOnce(t *testing.T) {
	seen := map[string]Kind{}
	for kind, list := range keys {
		for _, key := range strings.Fields(list) {
			if _, twice := seen[key]; twice || key != strings.ToLower(key) {
				t.Errorf("%s: in the list twice, or not in lower case", key)
			}
			seen[key] = kind
		}
	}
}

func TestKindOf(t *testing.T) {
	for key, want := range map[string]Kind{
		"core.fsmonitor": Program, "CORE.SSHCommand": Program, "core.filemode": Harmless, "core.new": Unknown,
		"diff.x.command": Program, "diff.context": Harmless,
		"diff.x.new": Unknown, "filter.a.b.c.clean": Program, "gpg.ssh.program": Program,
		"includeif.gitdir:/a.path": Redirect, "remote.origin.fetch": Harmless,
		"remote.origin.vcs": Program, "fetch.fsck.skipList": Redirect, "fetch.fsck.badDate": Harmless, "alias.x": Program,
		"alias.x.command": Program,
		"advice.new":      Harmless, "submodule.a/b.update": Program, "http.https://h/.proxy": Redirect,
		"hook.x.command": Program, "credential.helper": Program,
		"pager.log": Program, "pretty.x": Trigger, "nosuch.key": Unknown,
	} {
		s, ok := ParseKey(key)
		if got := KindOf(s); !ok || got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if _, ok := ParseKey("nosection"); ok {
		t.Error("a key without a section is one")
	}
}

// Every key whose value git takes for a remote may name one, or an address, and no program or option.
func TestMayChangeRemotes(t *testing.T) {
	for _, key := range []string{"remote.o.url", "remote.o.pushurl", "submodule.m.url", "branch.main.remote",
		"branch.main.pushremote", "branch.a/b.pushRemote", "remote.pushDefault", "remotes.group",
		"extensions.partialClone"} {
		s, _ := ParseKey(key)
		for value, want := range map[string]bool{"origin": true, "https://example.com/x.git": true,
			"git@example.com:x": true, "../x.git": true, "ext::sh -c id": false, "any::x": false,
			"--upload-pack=id": false} {
			s.Value = value
			if got := MayChange(s, "/p", "/p"); got != want {
				t.Errorf("%s = %s: %v, want %v", key, value, got, want)
			}
		}
	}
	group := Setting{Section: "remotes", Name: "group", Value: "origin --upload-pack=id"}
	if MayChange(group, "/p", "/p") {
		t.Error("a group of remotes has an option")
	}
}
