package differential

import (
	"path"
	"slices"
	"strings"
	"syscall"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// probes lists what is tried in a world.
func (w *world) probes() []probe {
	var out []probe
	some := func(probes ...probe) {
		for _, p := range probes {
			if w.random.IntN(100) < w.share {
				out = append(out, p)
			}
		}
	}
	for _, dir := range append([]string{w.top + "/outside"}, w.dirs...) {
		// Files are used up, and are there only if they are to be.
		on := func(purpose string, probes ...probe) {
			at := w.target(dir, purpose)
			if _, made := w.files[at]; !made {
				return
			}
			for _, p := range probes {
				p.Path = at
				out = append(out, p)
			}
		}
		other := w.pick(w.dirs)
		on("read", probe{Do: "read"}, probe{Do: "read by fd"}, probe{Do: "stat"})
		on("write", probe{Do: "write"})
		on("append", probe{Do: "append"})
		on("trunc", probe{Do: "truncate"})
		on("otrunc", probe{Do: "open and truncate"})
		on("ln", probe{Do: "link", To: other + "/linked." + flat(dir)})
		on("meta", probe{Do: "chmod"}, probe{Do: "chown"}, probe{Do: "setxattr"}, probe{Do: "utime"})
		on("unlink", probe{Do: "unlink"})
		on("mv", probe{Do: "rename", To: other + "/moved." + flat(dir)})
		if _, made := w.files[w.target(other, "xc")]; made && other != dir {
			on("xc", probe{Do: "exchange", To: w.target(other, "xc")})
		}
		if w.random.IntN(3) == 0 {
			on("exec", probe{Do: "exec"})
		}
		if _, made := w.files[w.links[dir+"/to"]]; made {
			some(probe{Do: "read by link", Path: w.links[dir+"/to"], To: dir + "/to"})
		}
		some(
			probe{Do: "create", Path: dir + "/new"},
			probe{Do: "create", Path: dir + "/new.key"},
			probe{Do: "symlink", Path: dir + "/newlink"},
			probe{Do: "mkdir", Path: dir + "/newdir"},
			probe{Do: "mkfifo", Path: dir + "/newfifo"},
			probe{Do: "bind", Path: dir + "/newsock"},
			probe{Do: "rmdir", Path: dir + "/empty"},
			probe{Do: "stat", Path: dir},
			probe{Do: "chmod", Path: dir},
			probe{Do: "list", Path: dir},
			probe{Do: "connect", Path: dir + "/sock"},
		)
		if up := w.target(path.Dir(dir), "read"); w.files[dir] {
			if _, made := w.files[up]; made {
				some(probe{Do: "read by dotdot", Path: up, To: dir})
			}
		}
	}
	for _, link := range sorted(w.links) {
		if !strings.HasSuffix(link, "/to") {
			some(probe{Do: "unlink", Path: link})
		}
	}
	// Directories move last: afterwards the paths of the others are not theirs.
	for i := len(w.dirs) - 1; i > 0; i-- {
		some(probe{Do: "rename and back", Path: w.dirs[i], To: w.dirs[i] + ".moved"})
	}
	return out
}

func flat(dir string) string { return strings.ReplaceAll(dir[1:], "/", "_") }

// oracle says what the profile makes of a probe: the first answer is about
// the path itself, the others about what the probe needs besides. Any of them
// may be about a private directory, in which the host's files are not.
func oracle(p profile.Profile, pr probe, below []string) (v profile.Verdict, private bool) {
	verdicts := verdicts(p, pr, below)
	for _, v := range verdicts {
		private = private || v.Private
	}
	for _, v := range verdicts {
		if !v.Allowed {
			return v, private
		}
	}
	return verdicts[0], private
}

func verdicts(p profile.Profile, pr probe, below []string) []profile.Verdict {
	all := func(v ...profile.Verdict) []profile.Verdict { return v }
	switch pr.Do {
	case "read", "read by fd":
		return all(p.Allows(profile.OpRead, pr.Path))
	case "read by link":
		return all(p.Allows(profile.OpRead, pr.Path), p.Allows(profile.OpStat, pr.To))
	case "read by dotdot":
		return all(p.Allows(profile.OpRead, pr.Path), p.Allows(profile.OpStat, pr.To))
	case "write", "append", "truncate", "open and truncate":
		return all(p.Allows(profile.OpWrite, pr.Path))
	case "create", "symlink", "mkdir", "mkfifo", "bind":
		return all(p.Allows(profile.OpCreate, pr.Path))
	case "unlink", "rmdir":
		return all(p.Allows(profile.OpRemove, pr.Path))
	case "rename", "rename and back":
		return all(p.AllowsRename(pr.Path, pr.To, below), p.Allows(profile.OpRemove, pr.Path))
	case "exchange":
		return all(p.AllowsRename(pr.Path, pr.To, nil), p.AllowsRename(pr.To, pr.Path, nil))
	case "link":
		return all(p.Allows(profile.OpCreate, pr.To), p.Allows(profile.OpLink, pr.Path))
	case "chmod", "chown", "setxattr", "utime":
		return all(p.Allows(profile.OpMetadata, pr.Path))
	case "exec":
		return all(p.Allows(profile.OpExec, pr.Path))
	case "stat":
		return all(p.Allows(profile.OpStat, pr.Path))
	case "list":
		return all(p.Allows(profile.OpList, pr.Path))
	case "connect":
		return all(p.Allows(profile.OpConnect, pr.Path))
	}
	panic("unknown probe " + pr.Do)
}

// paths returns the paths that a probe is about.
func (p probe) paths() []string {
	if p.To == "" || p.Do == "read by dotdot" || p.Do == "read by link" {
		return []string{p.Path}
	}
	return []string{p.Path, p.To}
}

// within reports whether path is dir or below it; nothing is within "".
func within(dir, path string) bool {
	if dir == "" {
		return false
	}
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// unheld reports whether a mechanism said that it does not hold this probe.
// A name that was there at the start is held; only new ones are excused.
func (b built) unheld(p profile.Profile, pr probe, before map[string]string) string {
	for _, g := range b.gaps {
		if g.Protection == "tcp" && (pr.Do == "listen tcp" || pr.Do == "connect tcp") { // before ABI 4
			return g.String()
		}
		if b.mount && g.Mechanism == "landlock" {
			continue // behind mounts Landlock leaves much to them
		}
		for _, at := range pr.paths() {
			isNew := changesNames(pr) && before[at] == ""
			excused := false
			switch g.Protection {
			case "hide", "protect", "private":
				excused = within(g.Object, at) || strings.HasPrefix(pr.Do, "rename") && within(at, g.Object) ||
					pr.Do == "read by link" && within(g.Object, pr.To)
			case "later names":
				excused = isNew && named(p, at)
			case "names":
				excused = named(p, at) && (g.Object == "" || within(g.Object, at))
			case "vacant":
				kind, _, _ := p.Effective(path.Dir(at))
				excused = isNew && kind == profile.Private
			case "exec":
				excused = b.mount && !b.rules && pr.Do == "exec"
			case "metadata":
				excused = strings.Contains("chmod chown setxattr utime", pr.Do)
			case "stat":
				excused = pr.Do == "stat" || pr.Do == "read by link" || pr.Do == "read by dotdot"
			case "unix sockets":
				excused = !b.mount && pr.Do == "connect"
			case "truncate": // before ABI 3
				excused = pr.Do == "truncate"
			}
			if excused {
				return g.String()
			}
		}
	}
	return ""
}

func changesNames(pr probe) bool {
	switch pr.Do {
	case "create", "symlink", "mkdir", "mkfifo", "bind", "rename", "rename and back", "link":
		return true
	}
	return false
}

// covers reports whether path is what a gap's object names: a path and what
// is below, or "BASE/**/NAME" and what is below a match.
func covers(object, at string) bool {
	base, name, isName := strings.Cut(object, "/**/")
	if !isName {
		return object != "" && within(object, at)
	}
	if !within(base, at) || at == base {
		return false
	}
	return anchored(strings.Split(strings.TrimPrefix(at, base+"/"), "/"), strings.Split(name, "/"))
}

// anchored reports whether the patterns match elements in a row.
func anchored(elements, patterns []string) bool {
	for start := 0; start+len(patterns) <= len(elements); start++ {
		match := true
		for i, p := range patterns {
			ok, _ := path.Match(p, elements[start+i])
			match = match && ok
		}
		if match {
			return true
		}
	}
	return false
}

func named(p profile.Profile, at string) bool {
	for _, r := range p.NameRules() {
		if covers(r.Target(), at) {
			return true
		}
	}
	return false
}

// stricter explains why the kernel refused what the oracle allows, or returns "".
func (b built) stricter(p profile.Profile, pr probe, o outcome, private bool) string {
	if kind, _, _ := p.Effective(path.Dir(pr.Path)); private || kind == profile.Private {
		return "the host's file is not in the private directory"
	}
	for _, g := range b.gaps {
		if g.Protection != "narrowed" {
			continue
		}
		for _, at := range pr.paths() {
			switch {
			case strings.HasPrefix(g.Why, "something below is denied"):
				if at == g.Object || path.Dir(at) == g.Object {
					return g.String()
				}
			case within(g.Object, at):
				return g.String()
			case within(at, g.Object) && (pr.Do == "stat" || strings.HasPrefix(pr.Do, "rename")):
				return g.String()
			}
		}
		if strings.HasPrefix(pr.Do, "read by") && within(g.Object, pr.To) {
			return g.String()
		}
	}
	if _, access, _ := p.Effective(pr.To); pr.Do == "read by dotdot" && access == 0 {
		return "a hidden directory is not walked through"
	}
	if pr.Do == "stat" && b.mount && !b.holds(pr.Path) && !p.Allows(profile.OpList, pr.Path).Allowed {
		return "it leads only to what is not there"
	}
	moves := len(pr.paths()) == 2
	switch {
	case moves && o.Errno == syscall.EXDEV && b.mount && b.mountOf(pr.Path) != b.mountOf(pr.To):
		return "different mounts"
	case moves && o.Errno == syscall.EXDEV && b.rules && differs(p, pr):
		return "Landlock does not let a file gain rights by moving"
	case o.Errno == syscall.EBUSY && b.mount && (b.mountOf(pr.Path) == pr.Path || moves && b.mountOf(pr.To) == pr.To):
		return "a mount point"
	}
	return ""
}

// differs reports whether the two ends of a move have different access.
func differs(p profile.Profile, pr probe) bool {
	_, from, _ := p.Effective(path.Dir(pr.Path))
	_, to, _ := p.Effective(path.Dir(pr.To))
	return from != to
}

// shows reports whether the host's file of that path is there inside.
func (b built) shows(at string) bool {
	for _, m := range b.mounts.Layout {
		if m.Path == b.mountOf(at) {
			return m.Path == at || m.Form != bwrap.Private
		}
	}
	return true
}

// holds reports whether something is mounted at or below a path.
func (b built) holds(at string) bool {
	return slices.ContainsFunc(b.mounts.Layout, func(m bwrap.Mount) bool { return within(at, m.Path) })
}

// mountOf returns the path of the mount that contains a path.
func (b built) mountOf(at string) string {
	on := "/"
	for _, m := range b.mounts.Layout {
		if m.Form != bwrap.Directory && m.Form != bwrap.Link && within(m.Path, at) && len(m.Path) > len(on) {
			on = m.Path
		}
	}
	return on
}
