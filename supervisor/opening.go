package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/shell"
)

// A command that names a file outside the project, or a host, fails although a person says yes to it, because its
// sandbox does not have them. So the question has a second yes, which opens exactly those files for reading and those
// hosts, for this run (R-UX-10, R-LY-08). A file that it writes, and the new place of a worktree, are opened for
// writing, and then there is no other yes: it could not work. The answer is bound to these paths and hosts, part of the
// judgement's digest. Where it creates, moves or removes an entry, that is the entry's directory.

// maxOpened is how many paths and hosts one yes opens at most.
const maxOpened = 4

// noOpening are places that no yes opens: processes, devices, and the state of the system.
var noOpening = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/boot"}

// namedURL finds the hosts that a command names.
var namedURL = regexp.MustCompile(`(?:^|[\s"'=])(https?)://([A-Za-z0-9.-]+)(:[0-9]{1,5})?(?:[/?#\s"']|$)`)

// opening lists the existing paths and the hosts that a command names and p lacks, if a yes may open all of it within
// the operator's ceiling; widened is p with it. It lists nothing where the yes would not be enough.
func (s *Supervisor) opening(
	e *Exec, cfg *config.Config, j *judgement, p profile.Profile,
) (list []profile.Grant, widened profile.Profile, err error) {
	v, r := j.verdict, e.Request
	hopeless := v.Decision != shell.Ask || v.Replaced || v.Hidden || v.Danger
	if hopeless || r.callerRuns || r.cwdUnknown || r.Agent || r.Server {
		return nil, p, nil
	}
	in := slices.Clone(v.WrittenIn)
	for _, path := range v.Paths {
		g := profile.Grant{Path: path, Access: profile.Read, Origin: "this yes"}
		if slices.Contains(v.Written, path) {
			g.Access |= profile.Write
		}
		if !v.Outside || slices.Contains(list, g) || grants(p, g) || path == j.lost {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil {
			if dir := filepath.Dir(path); g.Access.Has(profile.Write) && !slices.Contains(in, dir) {
				in = append(in, dir)
			}
			continue // the command may create it, also in a directory of the sandbox's own
		}
		if info.IsDir() && g.Access.Has(profile.Write) {
			in = append(in, path) // cp puts the file there
			continue
		}
		unsafe := v.Protected || !info.Mode().IsRegular()
		if !s.mayOpen(e.Session, p, path, info) || g.Access.Has(profile.Write) && unsafe {
			return nil, p, nil
		}
		list = append(list, g)
	}
	for _, dir := range intoOneOf(in) {
		g := profile.Grant{Path: dir, Access: profile.Read | profile.Write, Origin: "this yes"}
		if !v.Outside || grants(p, g) {
			continue
		}
		if v.Protected || !s.mayWriteIn(e.Session, p, dir) {
			return nil, p, nil
		}
		list = append(slices.DeleteFunc(list, func(o profile.Grant) bool { return abspath.Contains(dir, o.Path) }), g)
	}
	if j.lost != "" && s.mayCreate(e.Session, p, j.lost) {
		list = append(list, profile.Grant{Path: j.lost, Access: profile.Read | profile.Write, Origin: "this yes"})
		list = append(list, worktreeRecords(e.Session, p)...)
	}
	list = append(list, s.hostsNamed(cfg, j)...)
	if len(list) > maxOpened {
		return nil, p, nil
	}
	widened = p
	for _, g := range list {
		if widened, err = widened.With(g); err != nil {
			return nil, p, nil
		}
	}
	if j.operator != nil {
		widened = widened.Intersect(*j.operator)
	}
	reach, err := s.reaching(cfg, v.Network, widened, j.operator)
	lacks := func(g profile.Grant) bool {
		if g.Path != "" {
			return !grants(widened, g)
		}
		return reach == nil || !reach.proxied || !reach.policy.hosts.AllowsHost(g.Host.Host, g.Host.Port) ||
			reach.policy.denied.AllowsHost(g.Host.Host, g.Host.Port)
	}
	if err != nil || slices.ContainsFunc(list, lacks) {
		return nil, p, err
	}
	return list, widened, nil
}

// worktreeRecords grants what git writes of a repository outside the project when a linked work tree there adds
// another: not its objects, configuration and hooks. [makeRecords] makes those that are missing.
func worktreeRecords(sess *Session, p profile.Profile) (list []profile.Grant) {
	for _, path := range worktreePlaces(sess) {
		g := profile.Grant{Path: path, Access: profile.Read | profile.Write, Origin: "this yes"}
		if !grants(p, g) {
			list = append(list, g)
		}
	}
	return list
}

// worktreePlaces are the directories of those; none where git's directory is the project's own.
func worktreePlaces(sess *Session) (list []string) {
	dir, _ := gitOf(sess.Root)
	if dir == "" {
		return nil
	}
	for _, name := range []string{"worktrees", "refs", "logs"} {
		list = append(list, filepath.Join(dir, name))
	}
	return list
}

// makeRecords makes the directories that [worktreeRecords] grants, as a mount needs them. To git a repository with an
// empty one is the same.
func makeRecords(sess *Session) error {
	for _, path := range worktreePlaces(sess) {
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// hostsNamed lists the hosts of a command's URLs, in a trusted project, unless the command has a proxy, which asks for
// each host while the command waits.
func (s *Supervisor) hostsNamed(cfg *config.Config, j *judgement) (list []profile.Grant) {
	if !j.trusted || j.trusts || !cfg.Network.Ask || j.reach != nil && j.reach.proxied ||
		slices.Contains([]string{"none", "full"}, j.verdict.Network) {
		return nil
	}
	for _, m := range namedURL.FindAllStringSubmatch(j.command.Text(), -1) {
		port := cmp.Or(m[3], map[string]string{"http": ":80", "https": ":443"}[m[1]])
		host, err := profile.ParseHostPort(strings.ToLower(m[2]) + port)
		_, ip := netip.ParseAddr(host.Host)
		if err != nil || ip == nil || host.Host == "localhost" {
			continue
		}
		if g := (profile.Grant{Host: host, Origin: "this yes"}); !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// grants reports whether a profile has what a grant of a path adds.
func grants(p profile.Profile, g profile.Grant) bool {
	v := p.Allows(profile.OpWrite, g.Path)
	return shows(p, g.Path) && (!g.Access.Has(profile.Write) || v.Allowed && !v.Private)
}

// shows reports whether a profile lets programs read the host's content of a path.
func shows(p profile.Profile, path string) bool {
	v := p.Allows(profile.OpRead, path)
	return v.Allowed && !v.Private
}

// mayOpen reports whether a person may be offered to open a path: a file or directory by its real name, that no rule
// hides, outside hidden directories of the home, and not a directory that holds the home, the project or this
// product's own files.
func (s *Supervisor) mayOpen(sess *Session, p profile.Profile, path string, info fs.FileInfo) bool {
	if real, err := filepath.EvalSymlinks(path); err != nil || real != path || path == "/" {
		return false
	}
	return (info.Mode().IsRegular() || info.IsDir()) && s.openable(sess, p, path)
}

// openable is mayOpen for a path that is its own real name, whatever is there.
func (s *Supervisor) openable(sess *Session, p profile.Profile, path string) bool {
	kind, _, rule := p.Effective(path)
	if kind != profile.Private && (kind != profile.Hide || rule != (profile.Rule{})) {
		return false
	}
	home := realHome(sess.Home)
	for _, held := range append([]string{home, sess.Root}, s.own...) {
		if held != "" && abspath.Contains(path, held) {
			return false
		}
	}
	inside := func(dir string) bool { return abspath.Contains(dir, path) }
	if slices.ContainsFunc(noOpening, inside) || slices.ContainsFunc(s.own, inside) {
		return false
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); ok {
		return !slices.ContainsFunc(
			strings.Split(rest, "/"),
			func(name string) bool { return strings.HasPrefix(name, ".") },
		)
	}
	return true
}

// intoOneOf drops the directories in which nothing is written: the last operand of mv is a directory, or a name in one.
func intoOneOf(dirs []string) []string {
	isDir := func(dir string) bool {
		info, err := os.Lstat(dir)
		return err == nil && info.IsDir()
	}
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return !isDir(dir) && slices.Contains(dirs, filepath.Dir(dir)) ||
			slices.ContainsFunc(dirs, func(d string) bool { return filepath.Dir(d) == dir && isDir(d) })
	})
}

// mayWriteIn reports whether a person may be offered to have a command write in a directory: one that only the daemon's
// user writes, and no repository, whose hooks would be open, too.
func (s *Supervisor) mayWriteIn(sess *Session, p profile.Profile, dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !s.mayOpen(sess, p, dir, info) || !onlyOurs(dir) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, ".git"))
	return errors.Is(err, fs.ErrNotExist)
}

// unwidened is why a yes to the command that opens nothing is not enough; "": it is.
func (j *judgement) unwidened() string {
	for _, g := range j.opens {
		if g.Access.Has(profile.Write) {
			return notWritable(g.Path)
		}
	}
	return ""
}

// notWritable says what permits commands to write a path.
func notWritable(path string) string {
	return fmt.Sprintf("commands can't write %s: choose a place in the project, or permit it by "+
		"[sandbox] write = [%q] (it has to exist then)", path, path)
}

// opened identifies the grants of a yes; "" for none.
func opened(list []profile.Grant) string {
	var quoted []string
	for _, g := range list {
		quoted = append(quoted, strconv.Quote(g.String()))
	}
	return strings.Join(quoted, " ")
}

// openings are the widenings that the question offers for a judgement. A path is quoted as in a shell, since one with
// blanks could be read as the end of the label and another answer.
func (j *judgement) openings(home string) []approval.Widening {
	var read, write, connect, parts []string
	for _, g := range j.opens {
		list := &read
		if g.Access.Has(profile.Write) {
			list = &write
		}
		rest, ok := strings.CutPrefix(g.Path, strings.TrimSuffix(home, "/")+"/")
		switch {
		case g.Path == "":
			connect = append(connect, g.Host.String())
		case ok && home != "":
			*list = append(*list, "~/"+shell.Quote([]string{rest}))
		default:
			*list = append(*list, shell.Quote([]string{g.Path}))
		}
	}
	if len(write) > 0 {
		parts = append(parts, "write access to "+strings.Join(write, ", "))
	}
	if len(read) > 0 {
		parts = append(parts, "read access to "+strings.Join(read, ", "))
	}
	if len(connect) > 0 {
		parts = append(parts, "a connection to "+strings.Join(connect, ", "))
	}
	if len(parts) == 0 {
		return nil
	}
	return []approval.Widening{{Value: opened(j.opens), Description: strings.Join(parts, " and ")}}
}
