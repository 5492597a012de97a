package supervisor

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/config"
	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
	"sandboxd/layer"
	"sandboxd/profile"
	"sandboxd/sandbox"
	"sandboxd/shell/analysis"
)

// RunKind says how a run writes to the project.
type RunKind string

// The kinds.
const (
	// RunReads writes nothing: the project and the host's other files are read-only.
	RunReads RunKind = "none"
	// RunLayered writes to a layer, which lands in the project after the run.
	RunLayered RunKind = "layered"
	// RunDirect writes to the project.
	RunDirect RunKind = "direct"
)

// rootKey distinguishes a root from others, from itself after its entries changed, and in another table of mounts.
type rootKey struct {
	path     string
	dev, ino uint64
	ctime    int64
	mounts   uint64
}

// chooseKind decides how a run writes to the project. It fails where a run that is to be held can't have a layer.
func (s *Supervisor) chooseKind(e *Exec, cfg *config.Config, j *judgement) error {
	j.hold = e.Request.Hold || e.Session.hold || cfg.Sandbox.Land == "hold"
	j.kind = RunReads
	if !e.Request.Hold && j.reads() || !j.trusted || e.Session.Root == "" {
		return nil
	}
	j.kind, j.direct = RunDirect, s.directBecause(e, j, cfg.Sandbox.Layers)
	if j.direct == "" {
		j.direct = s.layerable(e.Session)
	}
	if j.direct == "" {
		j.kind = RunLayered
	}
	if j.hold && j.kind != RunLayered {
		return cannotHold(e, j.direct)
	}
	return nil
}

// cannotHold is the error of a run that is to be held and has no layer.
func cannotHold(e *Exec, why string) error {
	how := "where [sandbox] land and the session do not say \"hold\""
	if e.Request.Hold {
		how = "without --hold"
	}
	return &RequestError{"what the command writes can't be held: " + why +
		"; run it " + how + ", and sbx undo --last takes it back"}
}

// planRun plans a run. One whose layer the plan refuses is direct.
func (s *Supervisor) planRun(e *Exec, j *judgement, r sandbox.Request) (*sandbox.Plan, error) {
	if err := s.stack(e, j, r.Profile); err != nil {
		return nil, err
	}
	r.Overlays = s.overlayOf(e, j)
	plan, err := s.Host.Plan(r)
	if err == nil || r.Overlays == nil {
		return plan, err
	}
	if j.hold && j.kind == RunLayered {
		return nil, cannotHold(e, err.Error())
	}
	r.Overlays = nil
	alone, derr := s.Host.Plan(r)
	if derr != nil {
		return nil, derr
	}
	if j.kind == RunLayered {
		j.kind, j.direct = RunDirect, err.Error()
	}
	if len(j.above) > 0 {
		j.above, j.unseen = nil, err.Error()
	}
	return alone, nil
}

// stack chooses the held change sets that a run sees: those of its session, unless it has more permissions than the
// session's base, as it trusts what it reads more.
func (s *Supervisor) stack(e *Exec, j *judgement, p profile.Profile) error {
	j.above, j.unseen = nil, ""
	notes := s.heldNotes()
	if err := s.roomToHold(notes); err != nil && j.kind == RunLayered {
		return err
	}
	held := chosen(e.Session, notes)
	if len(held) == 0 {
		return nil
	}
	base, err := s.ProfileOf(e.Session)
	direct := s.layerable(e.Session)
	switch {
	case err != nil:
		return err
	case j.kind == RunDirect:
		j.unseen = "a direct run works in the project itself"
	case direct != "":
		j.unseen = direct
	case !s.isWithin(p, base):
		j.unseen = "it may do more than the session's other commands"
	case j.kind == RunLayered && len(held) >= sandbox.MaxAbove:
		return &RequestError{fmt.Sprintf("%d change sets of this session are held above each other, and no more can be: "+
			"land or drop some (sbx changes)", len(held))}
	default:
		j.above = held
	}
	return nil
}

// unseenWarning says that a run did not see what its session holds; "" where it did.
func (j *judgement) unseenWarning() []string {
	if j.unseen == "" {
		return nil
	}
	return []string{"the command did not see the change sets that its session holds: " + j.unseen}
}

// askedDirect is why a run is direct whose request says so.
const askedDirect = "the request says so"

// directServer is why a server is direct.
const directServer = "a server sees other commands' changes at once"

// serve has the session's next commands see a server's files, until the returned function is called.
func (j *judgement) serve(sess *Session) (end func()) {
	if j.direct != directServer {
		return func() {}
	}
	sess.servers.Add(1)
	return func() { sess.servers.Add(-1) }
}

// directBecause returns why a run that may write to the project has no layer, by its request and the configuration; ""
// where neither says so.
func (s *Supervisor) directBecause(e *Exec, j *judgement, layers string) string {
	r := e.Request
	switch {
	case r.Direct:
		return askedDirect
	case layers != "auto" && !j.hold:
		return "the configuration says so ([sandbox] layers)"
	case r.Agent || r.Server:
		return "an agent or a server inside sees other programs' changes at once"
	case r.Terminal && !j.hold:
		return "a program at a terminal sees other programs' changes at once"
	}
	script := j.script()
	switch {
	case leavesJob(script) && !j.hold:
		return "what it leaves running sees other commands' changes at once"
	case serves(script) && !j.hold:
		return directServer
	case (e.Session.anyJob() || e.Session.servers.Load() > 0) && !j.hold:
		return "a job or server of its session sees its changes at once"
	}
	return gitNeedsTheProject(script)
}

// script is the analysis of the command.
func (j *judgement) script() *analysis.Script {
	place := analysis.Place{Cwd: j.command.Cwd, Home: j.command.Home}
	if j.command.Line != "" {
		return analysis.Line(j.command.Line, place)
	}
	return analysis.Command(j.command.Argv, place)
}

// leavesJob reports whether a command's words show that it leaves processes running.
func leavesJob(script *analysis.Script) bool {
	return script.Background || slices.ContainsFunc(script.Calls, func(c *analysis.Call) bool {
		return slices.Contains([]string{"nohup", "setsid", "disown"}, c.Name())
	})
}

// runners are programs that run a program of the project, which serverWords tell from one that ends by itself. The
// servers are some that do not end.
var (
	runners = strings.Fields("npm pnpm yarn bun npx pnpx bunx deno node tsx ts-node vite next nuxt astro webpack ng " +
		"python python3 flask ruby rails bundle php hugo jekyll mkdocs java dotnet")
	servers = strings.Fields("nodemon http-server live-server json-server uvicorn gunicorn hypercorn daphne puma " +
		"redis-server postgres mongod mysqld nginx caddy air watchexec entr")
	serverWords = strings.Fields("dev start watch --watch preview develop -S")
)

// serves reports whether a command's words show a server, or a program that watches the project's files.
func serves(script *analysis.Script) bool {
	return slices.ContainsFunc(script.Calls, func(c *analysis.Call) bool {
		if slices.Contains(servers, c.Name()) {
			return true
		}
		return slices.Contains(runners, c.Name()) && slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
			return slices.Contains(serverWords, w.Text) || strings.Contains(w.Text, "serve")
		})
	})
}

// gitNeedsTheProject returns why a command's words show that git can't work in a layer, or "". git fails where
// rename(2) of a directory that exists does not work, which mv copies instead, and where a hard link of a file that
// exists is another file, as in the clone of a repository by its path.
func gitNeedsTheProject(script *analysis.Script) (why string) {
	for _, c := range script.Calls {
		argv, _ := c.Argv()
		if len(argv) < 2 || path.Base(argv[0]) != "git" {
			continue
		}
		verb := gitVerb(argv[1:])
		switch {
		case len(verb) == 0:
		case verb[0] == "mv", verb[0] == "worktree" && slices.Contains(verb, "move"):
			return "it renames a directory, which a layer would have to copy"
		case verb[0] == "clone", verb[0] == "submodule" && !slices.ContainsFunc(verb, isURL):
			return "it may clone a repository by hard links, which a layer breaks"
		}
	}
	return ""
}

// gitVerb returns git's words from its subcommand on: without its own options, those with a value among them
// (git(1), Options).
func gitVerb(words []string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		takes := slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"}, words[0])
		words = words[1:]
		if takes && len(words) > 0 {
			words = words[1:]
		}
	}
	return words
}

// isURL reports whether git gets a repository from a word by a protocol, not by hard links (git-clone(1), --local).
func isURL(word string) bool { return strings.Contains(word, "://") }

// overlayOf is the overlay of a run on the session's project: none of a direct run, and of a reader only where it sees
// held change sets. The layer is made when the run starts.
func (s *Supervisor) overlayOf(e *Exec, j *judgement) []sandbox.Overlay {
	o := sandbox.Overlay{Path: e.Session.Root}
	for _, exec := range slices.Backward(j.above) {
		o.Above = append(o.Above, filepath.Join(s.layers, exec, "upper"))
	}
	if j.kind == RunLayered {
		dir := filepath.Join(s.layers, cmp.Or(e.ID, "check"))
		o.Upper, o.Work = filepath.Join(dir, "upper"), filepath.Join(dir, "work")
		o.Spares, o.Begin = s.spares(e.Session), func(spare string) error { return j.layer.begin(spare) }
	}
	if o.Upper == "" && len(o.Above) == 0 {
		return nil
	}
	return []sandbox.Overlay{o}
}

// landingProfile lets a worker change a project and the layers, and see the system that its program needs. It has no
// private directory: a grant inside one is no rule of Landlock's own, and the worker gets both by descriptors.
func (s *Supervisor) landingProfile(root string) (profile.Profile, error) {
	spec := profile.Spec{Devices: profile.MinimalDevices()}
	allow := func(p string, access profile.Access) {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: access, Path: p, Origin: "landing"})
	}
	for _, p := range profile.SystemTrees() {
		allow(p, profile.Read|profile.Exec)
	}
	spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Private, Access: profile.Read, Path: "/proc"})
	allow(root, profile.Read|profile.Write|profile.Exec)
	allow(s.layers, profile.Read|profile.Write|profile.Exec)
	return profile.New(spec)
}

// permits refuses a change that the profile of the run does not permit. Protected names are asked about instead.
func permits(p profile.Profile, root string) layer.Judge {
	return func(c layer.Change) error {
		kind, access, rule := p.Effective(path.Join(root, string(c.Path)))
		if kind == profile.Protect || kind == profile.Allow && access.Has(profile.Write) {
			return nil
		}
		return fmt.Errorf("the profile does not let the command change it (%s)", rule.Target())
	}
}

// refusedBy lists the changes that the judge refuses.
func refusedBy(changes []layer.Change, judge layer.Judge) (refused []layer.Note) {
	for _, c := range changes {
		if err := judge(c); err != nil {
			refused = append(refused, layer.Note{Path: c.Path, Reason: err.Error()})
		}
	}
	return refused
}

// keptState is an object of a change set in the words of the undo store.
func keptState(s layer.State) files.State {
	out := files.State{Mode: s.Mode, UID: s.UID, GID: s.GID, ModTime: s.MTime, Target: string(s.Target), Xattrs: s.Xattrs}
	switch s.Kind {
	case layer.File:
		out.Kind, out.Size = files.File, s.Size
		if s.Hash != "" {
			out.Hash = "sha256:" + s.Hash
		}
	case layer.Dir:
		out.Kind = files.Dir
	case layer.Symlink:
		out.Kind = files.Symlink
	default:
		out.Kind = files.Other
	}
	return out
}

// manifests are the part of a project that a change set changed, before and after its landing: that of the chosen Ops
// and then Dirs, by index. k has the contents of the files from before; nil: they are not kept. left returns the
// modification time with which the landing left one of Dirs.
func manifests(set *layer.Set, k *store.Landed, chosen func(int) bool,
	left func(dir int) (ns int64, ok bool)) (before, after []snapshot.Entry) {
	add := func(m *[]snapshot.Entry, at layer.Name, s layer.State) {
		e := snapshot.Entry{Path: strings.TrimPrefix(string(at), "."), State: keptState(s)}
		if at != "." {
			e.Path = string(at)
		}
		if k != nil && m == &before && e.State.Kind == files.File {
			hash, size, ok := k.Hash(e.Path)
			if !ok {
				e.State, e.Partial = files.State{}, true
			} else {
				e.State.Hash, e.State.Size = hash, size
			}
		}
		*m = append(*m, e)
	}
	for i, d := range set.Dirs {
		whole := chosen(len(set.Ops) + i)
		if !whole && !parentOfChosen(set, d.Path, chosen) {
			continue
		}
		add(&before, d.Path, d.Old)
		if ns, ok := left(i); ok && !whole {
			d.New.MTime = ns
		}
		add(&after, d.Path, d.New)
	}
	for i, op := range set.Ops {
		if !chosen(i) {
			continue
		}
		for _, n := range op.Old {
			add(&before, n.Path.Below(op.Path), n.State)
		}
		for _, n := range op.New {
			add(&after, n.Path.Below(op.Path), n.State)
		}
	}
	return before, after
}

// parentOfChosen reports whether a chosen Op has its name in the directory.
func parentOfChosen(set *layer.Set, dir layer.Name, chosen func(int) bool) bool {
	for i, op := range set.Ops {
		if chosen(i) && path.Dir(string(op.Path)) == string(dir) {
			return true
		}
	}
	return false
}

// keepLanded stores the changes of a landing; undo is empty where nothing changed but times of directories.
func (s *Supervisor) keepLanded(
	r store.Record, root string, before, after []snapshot.Entry, k *store.Landed,
) (undo string, err error) {
	steps, c, err := snapshot.Steps(root, snapshot.List(before), snapshot.List(after))
	if err != nil || c.Len() == 0 {
		return "", err
	}
	return r.ID, s.Undo.KeepLanded(r, root, steps, k)
}

// changedPaths are the paths of changes, absolute.
func changedPaths(root string, changes []layer.Change) (c snapshot.Changes) {
	for _, one := range changes {
		abs := path.Join(root, string(one.Path))
		switch layer.Absent {
		case one.Old.Kind:
			c.Created = append(c.Created, abs)
		case one.New.Kind:
			c.Deleted = append(c.Deleted, abs)
		default:
			c.Modified = append(c.Modified, abs)
		}
	}
	return c
}

// firstNotes names the first of several paths with their reasons.
func firstNotes(notes []layer.Note) string {
	var list []string
	for _, n := range notes[:min(len(notes), 3)] {
		list = append(list, fmt.Sprintf("%q: %s", n.Path, n.Reason))
	}
	if more := len(notes) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}
