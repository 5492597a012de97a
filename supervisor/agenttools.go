package supervisor

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/shell"
)

// pathArguments are the names of the arguments that hold a path.
var pathArguments = []string{
	"file_path", "filePath", "path", "absolute_path", "notebook_path", "dir_path", "directory", "target_file",
}

// patternArguments are the names of the arguments that hold a pattern or text for people, and no path.
var patternArguments = []string{"pattern", "query", "regex", "regexp", "glob", "include", "description"}

// judgeAct applies the default rules to a call that no configured rule decides: the agent's own tool may do the same
// acts unasked as a command or the file tool. A tool that reads is judged as the command that shows the same. What a
// tool would change is looked at also where a rule asks.
func (s *Supervisor) judgeAct(
	ctx context.Context, sess *Session, peer Peer, cfg *config.Config, r ToolRequest, call *approval.Call,
) error {
	class := &call.Class
	if r.Contained && class.Rule == approval.RuleNone && call.Blocked == nil {
		class.Safe = true
		return nil
	}
	if call.Blocked != nil || call.Request == nil {
		return nil
	}
	if class.Act == approval.ActWrite || class.Act == approval.ActDelete {
		if class.Rule != approval.RuleAllow {
			s.judgeChanges(ctx, sess, peer, r, call)
		}
		return nil
	}
	paths, ok := pathsOf(r)
	if class.Act == approval.ActList || class.Act == approval.ActSearch {
		more, known := otherPaths(r)
		paths, ok = append(paths, more...), ok && known
	}
	if class.Rule != approval.RuleNone || class.Safe && ok && len(paths) == 0 {
		return nil
	}
	class.Safe = class.Safe && class.Act == ""
	switch {
	case !ok:
	case class.Act == approval.ActFetch:
		return s.judgeFetch(sess, cfg, r, call)
	case class.Act == approval.ActRead && len(paths) == 1:
		return s.judgeRead(ctx, sess, peer, r, []string{"cat", "--", paths[0]}, call)
	case class.Act == approval.ActList && len(paths) <= 1 && staysBelow(r.Args["pattern"]):
		return s.judgeRead(ctx, sess, peer, r, append([]string{"ls", "-R", "--"}, paths...), call)
	case class.Act == approval.ActSearch && len(paths) <= 1 && staysBelow(r.Args["glob"]) && staysBelow(r.Args["include"]):
		if s.secretBelow(sess, append(paths, r.Cwd)[0]) {
			call.Request.Reasons = append(call.Request.Reasons,
				"it may show secrets: the agent's search leaves no file out")
			return nil
		}
		return s.judgeRead(ctx, sess, peer, r, append([]string{"grep", "-r", "-e", "x", "--"}, paths...), call)
	}
	return nil
}

// pathsOf returns the paths among the arguments; not ok: only the agent knows the path that one of them names.
func pathsOf(r ToolRequest) (paths []string, ok bool) {
	for _, name := range pathArguments {
		value, given := r.Args[name]
		if !given {
			continue
		}
		p, isText := value.(string)
		if !isText || p == "" || rewritten(p) {
			return nil, false
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.Cwd, p)
		}
		paths = append(paths, p)
	}
	return paths, true
}

// otherPaths returns the paths among the arguments of a list or a search whose names say nothing: those that are there.
// One that may lead elsewhere, or that only the agent knows, is not ok.
func otherPaths(r ToolRequest) (paths []string, ok bool) {
	for name, value := range r.Args {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		if slices.Contains(pathArguments, name) || slices.Contains(patternArguments, name) {
			continue
		}
		for _, value := range list {
			p, isText := value.(string)
			switch {
			case !isText || p == "":
			case filepath.IsAbs(p) || strings.HasPrefix(p, "~") || strings.HasPrefix(p, ".."):
				return nil, false
			default:
				if _, err := os.Lstat(filepath.Join(r.Cwd, p)); err == nil {
					paths = append(paths, filepath.Join(r.Cwd, p))
				}
			}
		}
	}
	return paths, true
}

// rewritten reports whether an agent may take a path for another one: it may expand a beginning "~" and variables, and
// pi drops a beginning "@" and writes blanks for the other spaces of Unicode.
func rewritten(p string) bool {
	return strings.ContainsAny(p[:1], "~@") || strings.ContainsAny(p, "$\x00") ||
		strings.ContainsFunc(p, func(c rune) bool { return c > unicode.MaxASCII && unicode.IsSpace(c) })
}

// staysBelow reports whether a glob, where there is one, matches nothing above or beside its directory.
func staysBelow(glob any) bool {
	if glob == nil {
		return true
	}
	text, ok := glob.(string)
	return ok && !filepath.IsAbs(text) && !strings.HasPrefix(text, "~") && !strings.Contains(text, "..") &&
		!strings.ContainsAny(text, "{\\")
}

// maxSearched bounds the entries that are examined before an agent's own search.
const maxSearched = 50_000

// secretBelow reports whether a search of dir may show a secret: a file that commands don't have, or whose name is one
// of credentials; also where dir can't be examined whole. Git's own objects show nothing. A dir that is a link is
// searched where it leads, as the agent's search does.
func (s *Supervisor) secretBelow(sess *Session, dir string) bool {
	c, err := s.compile(sess)
	if err != nil {
		return true
	}
	p, err := s.ProfileOf(sess)
	if err != nil {
		return true
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return true
	}
	entries := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxSearched {
			return fs.SkipAll
		}
		if d.IsDir() && d.Name() == "objects" && filepath.Base(filepath.Dir(path)) == ".git" {
			return fs.SkipDir
		}
		kind, _, _ := p.Effective(path)
		if kind == profile.Hide || c.tool.Secret(path, shell.Command{Project: sess.Root, Home: sess.Home, Cwd: dir}) {
			entries = maxSearched + 1
			return fs.SkipAll
		}
		return nil
	})
	return err != nil || entries > maxSearched
}

// judgeRead lets the call run unasked where the command would, run by the agent itself.
func (s *Supervisor) judgeRead(
	ctx context.Context, sess *Session, peer Peer, r ToolRequest, argv []string, call *approval.Call,
) error {
	e, err := s.unstarted(sess, peer, ExecRequest{Argv: argv, Cwd: r.Cwd, callerRuns: sess.outer == nil})
	if err != nil {
		return nil // a directory that is gone: the question stays
	}
	j, err := s.judge(ctx, e)
	switch {
	case err != nil:
		return err
	case j.verdict.Decision == shell.Auto:
		call.Class.Safe = true
	default:
		call.Request.Reasons = append(call.Request.Reasons, j.verdict.Why)
	}
	return nil
}

// judgeFetch lets a URL be read whose host commands may reach, and refuses one of [network] deny.
func (s *Supervisor) judgeFetch(sess *Session, cfg *config.Config, r ToolRequest, call *approval.Call) error {
	text, _ := r.Args["url"].(string)
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	port := uint64(80)
	if u.Scheme == "https" {
		port = 443
	}
	if u.Port() != "" {
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil {
			return nil
		}
	}
	denied, err := cfg.Network.Denied()
	if err != nil {
		return err
	}
	refused := profile.Network{Mode: profile.NetAllowlist, Hosts: denied}
	if refused.AllowsHost(u.Hostname(), uint16(port)) {
		call.Blocked = &approval.BlockedError{Reason: "the configuration refuses this host", Rule: "network.deny"}
		return nil
	}
	p, err := s.ProfileOf(sess)
	if err != nil {
		return err
	}
	call.Class.Safe = p.Network().Mode == profile.NetAllowlist && p.Network().AllowsHost(u.Hostname(), uint16(port))
	return nil
}
