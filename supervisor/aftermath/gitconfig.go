package aftermath

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/shell/facts"
)

// harmlessKeys are settings that name no program and lead git nowhere: by
// section, names in lower case, "*" for all. Sections with a "." are those with
// a subsection. What is not here counts as naming a program: git has many keys
// that do, and gets more.
var harmlessKeys = map[string]string{
	"core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf sparsecheckout " +
		"sparsecheckoutcone preloadindex untrackedcache splitindex quotepath abbrev compression loosecompression bigfilethreshold checkstat trustctime " +
		"protecthfs protectntfs longpaths fscache whitespace commentchar commitgraph multipackindex sharedrepository warnambiguousrefs excludesfile " +
		"packedgitlimit packedgitwindowsize deltabasecachelimit maxtreedepth hidedotfiles",
	"extensions": "worktreeconfig objectformat compatobjectformat partialclone refstorage noop preciousobjects relativeworktrees",
	"user":       "*", "author": "*", "committer": "*", "color": "*", "color.": "*", "advice": "*", "status": "*", "rerere": "*", "index": "*",
	"feature": "*", "push": "*", "rebase": "*", "fetch": "*", "pack": "*", "checkout": "*", "worktree": "*", "stash": "*", "blame": "*", "column": "*",
	"remote.": "fetch push mirror skipdefaultupdate skipfetchall tagopt prune prunetags promisor partialclonefilter followremotehead",
	"remote":  "pushdefault",
	"branch":  "*", "submodule": "active recurse fetchjobs propagatebranches",
	"submodule.": "active branch fetchrecursesubmodules ignore shallow",
	"init":       "defaultbranch", "pull": "rebase ff",
	"gc":     "auto autopacklimit autodetach pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire writecommitgraph cruftpacks",
	"merge":  "conflictstyle ff renames renamelimit directoryrenames stat autostash log branchdesc verifysignatures",
	"diff":   "algorithm renames renamelimit colormoved colormovedws mnemonicprefix noprefix context interhunkcontext indentheuristic submodule wserrorhighlight statgraphwidth ignoresubmodules relative",
	"commit": "gpgsign verbose cleanup status", "tag": "gpgsign sort forcesignannotated",
	"log":      "date abbrevcommit decorate follow showsignature mailmap showroot initialdecorationset",
	"receive":  "denycurrentbranch denynonfastforwards denydeletes denydeletecurrent fsckobjects autogc updateserverinfo advertisepushoptions",
	"transfer": "fsckobjects hiderefs unpacklimit", "maintenance": "auto strategy", "uploadpack": "allowfilter allowanysha1inwant allowreachablesha1inwant allowtipsha1inwant hiderefs allowrefinwant",
	"lfs": "repositoryformatversion", "lfs.": "access locksverify",
}

var (
	boolean   = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|0|1|)$`)
	helperURL = regexp.MustCompile(`^[A-Za-z0-9+.-]+::`) // gitremote-helpers(7)
)

// harmless reports whether a setting of the repository at repo, in the tree at
// root, can neither start a program nor send git elsewhere.
func harmless(s facts.GitSetting, repo, root string) bool {
	section := s.Section
	if s.Sub != "" {
		section += "."
	}
	switch section + " " + s.Name {
	case "core fsmonitor": // a boolean means git's own
		return boolean.MatchString(s.Value)
	case "core worktree":
		return within(path.Join(repo, s.Value), root) && !strings.HasPrefix(s.Value, "/") || strings.HasPrefix(s.Value, "/") && within(path.Clean(s.Value), root)
	case "remote. url", "remote. pushurl", "submodule. url":
		return !helperURL.MatchString(s.Value) && !strings.HasPrefix(s.Value, "-")
	case "submodule. update":
		return !strings.HasPrefix(s.Value, "!")
	}
	if section == "branch." {
		return s.Name != "mergeoptions"
	}
	names, ok := harmlessKeys[section]
	return ok && (names == "*" || slices.Contains(strings.Fields(names), s.Name))
}

// configChange says what in a configuration changed that is not known to be
// harmless; nothing: ordinary work.
func configChange(before, after []byte, repo, root string) ([]string, error) {
	now, err := facts.ParseGitConfig(after)
	if err != nil {
		return nil, err
	}
	was, err := facts.ParseGitConfig(before)
	if err != nil {
		return nil, err
	}
	// Later settings win, so the order of those that matter must not change.
	keep := func(list []facts.GitSetting) []facts.GitSetting {
		return slices.DeleteFunc(list, func(s facts.GitSetting) bool { return harmless(s, repo, root) })
	}
	now, was = keep(now), keep(was)
	if slices.Equal(now, was) {
		return nil, nil
	}
	var keys []string
	for _, s := range now {
		if !slices.Contains(was, s) {
			keys = append(keys, s.Key())
		}
	}
	for _, s := range was {
		if !slices.Contains(now, s) {
			keys = append(keys, s.Key())
		}
	}
	if keys == nil {
		keys = []string{"the order of settings"}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// cleanConfig leaves the harmless settings of a new repository; taken are the
// keys of the others.
func cleanConfig(text []byte, repo, root string) (clean []byte, taken []string, err error) {
	list, err := facts.ParseGitConfig(text)
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	header := ""
	for _, s := range list {
		if !harmless(s, repo, root) {
			taken = append(taken, s.Key())
			continue
		}
		h := "[" + s.Section + "]\n"
		if s.Sub != "" {
			h = fmt.Sprintf("[%s \"%s\"]\n", s.Section, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Sub))
		}
		if h != header {
			header = h
			b.WriteString(h)
		}
		if s.Bare {
			b.WriteString("\t" + s.Name + "\n")
		} else {
			fmt.Fprintf(&b, "\t%s = \"%s\"\n", s.Name, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(s.Value))
		}
	}
	slices.Sort(taken)
	return []byte(b.String()), slices.Compact(taken), nil
}

// Harmless reports whether a setting "section.sub.name" with this value, in a
// repository below root, can neither start a program nor send git elsewhere.
func Harmless(key, value, root string) bool {
	section, rest, ok := strings.Cut(key, ".")
	if !ok {
		return false
	}
	s := facts.GitSetting{Section: strings.ToLower(section), Name: strings.ToLower(rest), Value: value}
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		s.Sub, s.Name = rest[:i], strings.ToLower(rest[i+1:])
	}
	return s.Name != "worktree" && harmless(s, root, root)
}
