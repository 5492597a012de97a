package supervisor

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/shell"
	"sandboxd/shell/analysis"
)

// Ordinary work meets protected names: git writes .git/config when a branch
// gets an upstream, and a package may have an editor's settings in it when it
// moves. A mount makes both fail with EBUSY. So a command line that is nothing
// but git and mv, with words that are all literal, gets exactly these paths
// besides, if a person says yes to it; git's changes are compared by meaning
// afterwards (package aftermath), and moved entries have to be the same.

// maxMoved bounds how many protected paths one mv may take along.
const maxMoved = 32

// widening lists the protected paths that c needs besides p's grants.
func widening(c shell.Command, p profile.Profile, root string) []string {
	if root == "" {
		return nil
	}
	for name := range c.Env {
		if !plainVariable(name) {
			return nil
		}
	}
	place := analysis.Place{Cwd: c.Cwd, Home: c.Home}
	script := analysis.Command(c.Argv, place)
	if c.Line != "" {
		script = analysis.Line(c.Line, place)
	}
	if len(script.Doubts) > 0 || len(script.Funcs) > 0 || script.Cut {
		return nil
	}
	var paths []string
	for _, call := range script.Calls {
		needs, plain := needsOf(call, p, root)
		if !plain {
			return nil
		}
		for _, path := range needs {
			if kind, _, _ := p.Effective(path); kind == profile.Protect && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// plainVariable: no program does something else because of it.
func plainVariable(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{"LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM",
		"NO_COLOR", "CI"}, name)
}

// needsOf says which paths a call changes that may be protected; plain is false
// where the call could run something else than it says.
func needsOf(call *analysis.Call, p profile.Profile, root string) (paths []string, plain bool) {
	if !call.Literal() || len(call.Args) == 0 || len(call.Assigns) > 0 || len(call.Via) > 0 || len(call.Wrapped) > 0 ||
		call.Subst {
		return nil, false
	}
	for _, r := range call.Redirs {
		if r.Kind != analysis.RedirNull && r.Kind != analysis.RedirDup {
			return nil, false
		}
	}
	argv, _ := call.Argv()
	dir := ""
	if !call.Dirs.Unknown && len(call.Dirs.Paths) == 1 {
		dir = call.Dirs.Paths[0]
	}
	switch argv[0] {
	case "cd", "true", "echo", "pwd", "ls", "mkdir":
		return nil, true
	case "mv":
		return moved(argv[1:], dir, p, root), true
	case "git":
		return gitNeeds(argv[1:], dir, p, root)
	}
	return nil, false
}

// gitWrites are the commands that write a repository's configuration, with the
// options without which they don't ("": always).
var gitWrites = map[string][]string{
	"remote": nil, "branch": nil, "checkout": nil, "switch": nil, "worktree": nil, "submodule": nil,
	"sparse-checkout": nil, "init": nil, "config": nil, "push": {"-u", "--set-upstream"}, "fetch": {"--set-upstream"},
	"pull": {"--set-upstream"},
}

// gitPlain are further commands that may stand beside them.
var gitPlain = []string{"add", "commit", "status", "log", "diff", "show", "rev-parse", "push", "fetch", "pull", "tag",
	"stash", "mv", "rm", "merge", "reset", "restore", "clone"}

// gitRuns are options and words that make git start the program that they name.
var gitRuns = []string{"--upload-pack", "--receive-pack", "--exec", "--template", "--config", "foreach", "-x",
	"--extcmd", "--ext-diff"}

func gitNeeds(args []string, dir string, p profile.Profile, root string) (paths []string, plain bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "--no-pager":
			args = args[1:]
		case args[0] == "-C" && len(args) > 1:
			if dir != "" && !filepath.IsAbs(args[1]) {
				dir = filepath.Join(dir, args[1])
			} else if filepath.IsAbs(args[1]) {
				dir = args[1]
			}
			args = args[2:]
		default:
			return nil, false // -c, --git-dir, --exec-path, …
		}
	}
	if len(args) == 0 {
		return nil, true
	}
	name, rest := args[0], args[1:]
	for _, a := range rest {
		option, _, _ := strings.Cut(a, "=")
		if slices.Contains(gitRuns, option) || name == "clone" && option == "-c" {
			return nil, false
		}
	}
	options, writes := gitWrites[name]
	switch {
	case !writes && !slices.Contains(gitPlain, name):
		return nil, false
	case name == "mv":
		return moved(rest, dir, p, root), true
	case name == "config" && !harmlessConfig(rest, root):
		return nil, false
	case !writes || options != nil && !slices.ContainsFunc(rest,
		func(a string) bool { return slices.Contains(options, a) }):
		return nil, true
	}
	return git.ConfigFiles(git.Disk, dir, root), true
}

// harmlessConfig reads "git config [--local] [--add|--unset|--replace-all] KEY [VALUE]".
func harmlessConfig(args []string, root string) bool {
	for len(args) > 0 && slices.Contains([]string{"--local", "--add", "--unset", "--unset-all", "--replace-all", "--get",
		"--bool", "--int"}, args[0]) {
		args = args[1:]
	}
	if len(args) == 0 || len(args) > 2 || strings.HasPrefix(args[0], "-") {
		return false
	}
	value := "true"
	if len(args) == 2 {
		value = args[1]
	}
	s, ok := git.ParseKey(args[0])
	s.Value = value
	return ok && s.Name != "worktree" && git.MayChange(s, root, root)
}

// moved lists the protected paths inside the folders that mv moves. A
// protected path itself, and git's own files, can't be moved this way.
func moved(args []string, dir string, p profile.Profile, root string) []string {
	var names []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") && a != "--" {
			if !slices.Contains([]string{"-f", "-n", "-v", "-T", "-k"}, a) {
				return nil
			}
			continue
		}
		if a != "--" {
			names = append(names, a)
		}
	}
	if len(names) < 2 || dir == "" {
		return nil
	}
	var paths []string
	for _, n := range names[:len(names)-1] {
		if !filepath.IsAbs(n) {
			n = filepath.Join(dir, n)
		}
		real, err := filepath.EvalSymlinks(n)
		if kind, _, _ := p.Effective(n); err != nil || real != n || n == root || !abspath.Contains(root, n) ||
			kind != profile.Allow || strings.Contains(n+"/", "/.git/") {
			return nil
		}
		err = filepath.WalkDir(n, func(path string, d fs.DirEntry, err error) error {
			if err != nil || len(paths) > maxMoved {
				return fs.SkipAll
			}
			if kind, _, _ := p.Effective(path); kind == profile.Protect {
				paths = append(paths, path)
				if d.IsDir() {
					return fs.SkipDir
				}
			}
			return nil
		})
		if err != nil || len(paths) > maxMoved {
			return nil
		}
	}
	return paths
}

// widen grants paths exactly, within the operator's ceiling.
func widen(p profile.Profile, operator *profile.Profile, paths []string) (profile.Profile, error) {
	var err error
	for _, path := range paths {
		_, access, _ := p.Effective(filepath.Dir(path))
		p, err = p.With(profile.Grant{Path: path, Access: access, Origin: "this command"})
		if err != nil {
			return p, err
		}
	}
	if operator != nil {
		p = p.Intersect(*operator)
	}
	return p, nil
}
