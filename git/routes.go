package git

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Routes is where git fetches from and pushes to, by the settings in force (git-config(1), git-push(1)).
type Routes struct {
	// Remotes are the remotes that have an address, by name.
	Remotes map[string]Remote
	// Branches are those with a remote of their own, by name.
	Branches map[string]Route
	// Others is the route of every other branch; "" where git finds no remote.
	Others Route
	// Submodules are the addresses of those that git init found.
	Submodules map[string]string
}

// Remote is where one remote leads, and what a push or fetch without further words does there.
type Remote struct {
	Route
	// Rules are its refspecs and mirror, one a line.
	Rules string
}

// Route is the addresses that a fetch and a push use, one a line. "" is none.
type Route struct{ Fetch, Push string }

// RoutesOf works out the routes by settings, weakest first.
func RoutesOf(settings []Setting) Routes {
	p := routing{byKey: map[string][]string{}}
	out := Routes{Remotes: map[string]Remote{}, Branches: map[string]Route{}, Submodules: map[string]string{}}
	var remotes, branches []string
	for _, s := range settings {
		key := s.Section + "." + s.Name
		if s.HasSub {
			key = s.Section + "." + s.Sub + "." + s.Name
		}
		p.byKey[key] = append(p.byKey[key], s.Value)
		switch {
		case s.Section == "url" && s.Name == "insteadof":
			p.fetch = append(p.fetch, [2]string{s.Value, s.Sub})
		case s.Section == "url" && s.Name == "pushinsteadof":
			p.push = append(p.push, [2]string{s.Value, s.Sub})
		case s.Section == "remote" && s.HasSub && !slices.Contains(remotes, s.Sub):
			remotes = append(remotes, s.Sub)
		case s.Section == "branch" && (s.Name == "remote" || s.Name == "pushremote"):
			branches = append(branches, s.Sub)
		case s.Section == "submodule" && s.Name == "url":
			out.Submodules[s.Sub] = s.Value
		}
	}
	for _, name := range remotes {
		r := Remote{Route: p.remote(name)}
		for _, rule := range []string{"mirror", "fetch", "push"} {
			for _, value := range p.byKey["remote."+name+"."+rule] {
				r.Rules += rule + " " + value + "\n"
			}
		}
		if r.Fetch+r.Push != "" {
			out.Remotes[name] = r
		}
	}
	standard := "origin"
	if len(remotes) == 1 {
		standard = remotes[0]
	}
	out.Others = p.branch("", standard)
	for _, name := range branches {
		out.Branches[name] = p.branch(name, standard)
	}
	return out
}

// routing finds settings by key, and the replacements of addresses: a beginning, and what git takes instead.
type routing struct {
	byKey       map[string][]string
	fetch, push [][2]string
}

func (p routing) last(key string) string {
	if list := p.byKey[key]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// replace returns an address as git uses it: the longest beginning counts.
func replace(address string, by [][2]string) (string, bool) {
	var best [2]string
	for _, r := range by {
		if strings.HasPrefix(address, r[0]) && len(r[0]) > len(best[0]) {
			best = r
		}
	}
	return best[1] + address[len(best[0]):], best[0] != ""
}

// remote returns the route of a remote with that name; none where it has no address.
func (p routing) remote(name string) Route {
	var fetch, push []string
	for _, address := range p.byKey["remote."+name+".url"] {
		if address == "" { // takes back those before
			fetch, push = nil, nil
			continue
		}
		to, _ := replace(address, p.fetch)
		fetch = append(fetch, to)
		if other, found := replace(address, p.push); found {
			to = other
		}
		push = append(push, to)
	}
	if own := p.byKey["remote."+name+".pushurl"]; len(own) > 0 {
		push = nil
		for _, address := range own {
			to, _ := replace(address, p.fetch)
			push = append(push, to)
		}
	}
	return Route{strings.Join(fetch, "\n"), strings.Join(push, "\n")}
}

// branch returns the route of a branch, where standard is the remote of those without one.
func (p routing) branch(name, standard string) (out Route) {
	fetch := p.last("branch." + name + ".remote")
	push := p.last("branch." + name + ".pushremote")
	if push == "" {
		push = p.last("remote.pushdefault")
	}
	if push == "" {
		push = fetch
	}
	out.Fetch, out.Push = p.named(fetch, standard).Fetch, p.named(push, standard).Push
	return out
}

// named returns the route of what a setting names: a remote, or an address. "" is the standard remote.
func (p routing) named(name, standard string) Route {
	if name == "" {
		return p.remote(standard)
	}
	if r := p.remote(name); r != (Route{}) {
		return r
	}
	to, _ := replace(name, p.fetch)
	return Route{to, to}
}

// To returns the addresses to which git push sends, for the remote that its words name, "" where they name none, and
// the branch that is checked out.
func (r Routes) To(remote, branch string) []string {
	push := r.Others.Push
	if own, ok := r.Branches[branch]; ok {
		push = own.Push
	}
	if remote != "" {
		push = remote
		if r, ok := r.Remotes[remote]; ok {
			push = r.Push
		}
	}
	return strings.Fields(push)
}

// Redirected returns what leads elsewhere by the routes to than by r, for a person: of each remote, branch and
// submodule that was there. exists reports whether a branch without a remote of its own was there. It may get a remote
// that was there, or the repository's first; a remote may get another name.
func (r Routes) Redirected(to Routes, exists func(branch string) bool) (list []string) {
	known := map[string]bool{"": true, ".": true}
	routes := map[Route]bool{}
	for _, remote := range r.Remotes {
		known[remote.Fetch], known[remote.Push] = true, true
	}
	for _, remote := range to.Remotes {
		routes[remote.Route] = true
	}
	said := map[Route]bool{} // a branch that follows a remote is not named beside it
	say := func(what, was, now string) {
		if was != now && !said[Route{was, now}] {
			list = append(list, fmt.Sprintf("%s %s instead of %s", what, shown(now), shown(was)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Remotes)) {
		was := r.Remotes[name]
		switch now, there := to.Remotes[name]; {
		case !there && routes[was.Route]:
		case !there:
			list = append(list, fmt.Sprintf("remote %s is gone, which led to %s", name, shown(was.Fetch)))
		case was.Fetch == was.Push && now.Fetch == now.Push:
			say("remote "+name+" leads to", was.Fetch, now.Fetch)
		default:
			say("remote "+name+" fetches from", was.Fetch, now.Fetch)
			say("remote "+name+" pushes to", was.Push, now.Push)
		}
		now := to.Remotes[name]
		if was.Rules != now.Rules && was.Route == now.Route {
			list = append(list, "remote "+name+" has other refspecs: "+
				strings.ReplaceAll(strings.TrimSpace(now.Rules), "\n", ", "))
		}
		said[Route{was.Fetch, now.Fetch}], said[Route{was.Push, now.Push}] = true, true
	}
	branch := func(name string, was, now Route, first bool) {
		free := func(to string) bool { return to == "" || first && (known[to] || len(r.Remotes) == 0) }
		switch {
		case was.Fetch == was.Push && now.Fetch == now.Push && !free(now.Fetch):
			say(name+" leads to", was.Fetch, now.Fetch)
		default:
			if !free(now.Fetch) {
				say(name+" fetches from", was.Fetch, now.Fetch)
			}
			if !free(now.Push) {
				say(name+" pushes to", was.Push, now.Push)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Branches)) {
		now, own := to.Branches[name]
		if !own {
			now = to.Others
		}
		branch("branch "+name, r.Branches[name], now, false)
	}
	for _, name := range slices.Sorted(maps.Keys(to.Branches)) {
		if _, had := r.Branches[name]; !had && exists(name) {
			branch("branch "+name, r.Others, to.Branches[name], true)
		}
	}
	branch("a branch without a remote", r.Others, to.Others, true)
	for _, name := range slices.Sorted(maps.Keys(r.Submodules)) {
		if now := to.Submodules[name]; now != "" {
			say("submodule "+name+" fetches from", r.Submodules[name], now)
		}
	}
	return list
}

// shown returns addresses for a person.
func shown(addresses string) string {
	var list []string
	for address := range strings.FieldsSeq(addresses) {
		list = append(list, Shown(address))
	}
	if len(list) == 0 {
		return "nowhere"
	}
	return strings.Join(list, " ")
}

// Shown returns an address for a person, without what may be a secret in it: a password, and a token in its place.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	if strings.HasPrefix(u.Scheme, "http") {
		u.User = nil
	}
	return u.Redacted()
}

// HasBranch reports whether a repository has a branch.
func HasBranch(h Host, repo Repository, branch string) bool {
	if _, err := h.Lstat(path.Join(repo.Common, "refs/heads", branch)); err == nil {
		return true
	}
	packed, err := h.ReadFile(path.Join(repo.Common, "packed-refs"), 64<<20)
	return err == nil && slices.ContainsFunc(strings.Split(string(packed), "\n"), func(line string) bool {
		return strings.HasSuffix(line, " refs/heads/"+branch)
	})
}

// Branch returns the branch that is checked out; "" where there is none.
func Branch(h Host, repo Repository) string {
	text, _ := h.ReadFile(path.Join(repo.Dir, "HEAD"), 4096)
	if branch, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: refs/heads/"); ok {
		return branch
	}
	return ""
}
