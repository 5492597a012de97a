package aftermath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sandboxd/git"
	"sandboxd/profile"
)

// saved is a Snapshot on disk, with the mounts of its run. Names are bytes: they
// need not be text.
type saved struct {
	Version int          `json:"version"`
	Rules   []savedRule  `json:"rules"`
	Entries []savedEntry `json:"entries"`
	Repos   [][]byte     `json:"repos"`
	Uses    []savedUse   `json:"uses"`
	Commons [][]byte     `json:"commons"`
	Named   []savedName  `json:"named"`
	Routes  []savedRoute `json:"routes,omitempty"`
	Roots   []savedRoot  `json:"roots"`
	Begun   int64        `json:"begun"` // nanoseconds
	Partly  bool         `json:"partly"`
	Held    []savedMount `json:"held"`
}

const savedVersion = 3

type savedRule struct {
	Kind   profile.Kind   `json:"kind"`
	Access profile.Access `json:"access"`
	Path   []byte         `json:"path"`
	Name   []byte         `json:"name"`
}

type savedEntry struct {
	Path    []byte `json:"path"`
	Anchor  []byte `json:"anchor"`
	Device  uint64 `json:"dev"`
	Inode   uint64 `json:"ino"`
	Mode    uint64 `json:"mode"`
	Size    int64  `json:"size"`
	Mtime   int64  `json:"mtime"` // nanoseconds
	Ctime   int64  `json:"ctime"`
	Content []byte `json:"content"` // null: not known
	Deep    bool   `json:"deep"`
	// Doubtful as in entry.
	Doubtful bool `json:"doubtful"`
	// Aliased as in entry.
	Aliased bool `json:"aliased"`
}

type savedUse struct {
	Dir []byte `json:"dir"`
	Git []byte `json:"git"`
}

type savedName struct {
	Path   []byte     `json:"path"`
	Config bool       `json:"config"`
	Whole  bool       `json:"whole,omitempty"`
	By     []savedUse `json:"by"`
}

type savedRoute struct {
	By     savedUse   `json:"by"`
	Routes git.Routes `json:"routes"`
}

type savedRoot struct {
	Path   []byte `json:"path"`
	Device uint64 `json:"dev"`
	Inode  uint64 `json:"ino"`
}

type savedMount struct {
	Path []byte `json:"path"`
	Held bool   `json:"held"`
}

// save encodes a snapshot, its findings, and the mounts of its run.
func (s *Snapshot) save(f found, held map[string]bool) ([]byte, error) {
	out := saved{Version: savedVersion, Begun: f.begun, Partly: f.partly}
	for _, r := range s.profile.Rules() {
		out.Rules = append(out.Rules, savedRule{r.Kind, r.Access, []byte(r.Path), []byte(r.Name)})
	}
	for _, at := range slices.Sorted(maps.Keys(f.entries)) {
		e := f.entries[at]
		out.Entries = append(out.Entries, savedEntry{Path: []byte(at), Anchor: []byte(e.anchor), Device: e.dev,
			Inode: e.ino, Mode: e.mode,
			Size: e.size, Mtime: e.mtime, Ctime: e.ctime, Content: e.content, Deep: e.deep, Doubtful: e.doubtful,
			Aliased: e.aliased})
	}
	for _, repo := range slices.Sorted(maps.Keys(f.repos)) {
		out.Repos = append(out.Repos, []byte(repo))
	}
	out.saveUse(f.gitUse)
	for i, root := range f.roots {
		out.Roots = append(out.Roots, savedRoot{[]byte(root), f.ids[i].dev, f.ids[i].ino})
	}
	for _, at := range slices.Sorted(maps.Keys(held)) {
		out.Held = append(out.Held, savedMount{[]byte(at), held[at]})
	}
	return json.Marshal(out)
}

// load is the way back of save.
func load(text []byte) (*Snapshot, map[string]bool, error) {
	var in saved
	if err := strictly(text, &in); err != nil {
		return nil, nil, err
	}
	if in.Version != savedVersion {
		return nil, nil, fmt.Errorf("version %d is not known", in.Version)
	}
	var spec profile.Spec
	for _, r := range in.Rules {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: r.Kind, Access: r.Access, Path: string(r.Path),
			Name: string(r.Name)})
	}
	p, err := profile.New(spec)
	if err != nil {
		return nil, nil, err
	}
	f := found{entries: map[string]entry{}, repos: map[string]bool{}, gitUse: in.loadUse(), begun: in.Begun,
		partly: in.Partly}
	for _, e := range in.Entries {
		at := string(e.Path)
		f.entries[at] = entry{stamp: stamp{dev: e.Device, ino: e.Inode, mode: e.Mode, size: e.Size, mtime: e.Mtime,
			ctime: e.Ctime},
			anchor: string(e.Anchor), content: e.Content, deep: e.Deep, doubtful: e.Doubtful, aliased: e.Aliased}
	}
	for _, repo := range in.Repos {
		f.repos[string(repo)] = true
	}
	for _, r := range in.Roots {
		f.roots, f.ids = append(f.roots, string(r.Path)), append(f.ids, identity{r.Device, r.Inode})
	}
	held := map[string]bool{}
	for _, m := range in.Held {
		held[string(m.Path)] = m.Held
	}
	return &Snapshot{profile: p, cache: &Cache{}, seen: f}, held, nil
}

func (out *saved) saveUse(u gitUse) {
	for _, by := range slices.SortedFunc(maps.Keys(u.uses), use.compare) {
		out.Uses = append(out.Uses, savedUse{[]byte(by.dir), []byte(by.git)})
	}
	for _, by := range slices.SortedFunc(maps.Keys(u.routes), use.compare) {
		out.Routes = append(out.Routes, savedRoute{savedUse{[]byte(by.dir), []byte(by.git)}, u.routes[by]})
	}
	for _, dir := range slices.Sorted(maps.Keys(u.commons)) {
		out.Commons = append(out.Commons, []byte(dir))
	}
	for _, at := range slices.Sorted(maps.Keys(u.named)) {
		n := savedName{Path: []byte(at), Config: u.named[at].config, Whole: u.named[at].whole}
		for _, by := range u.named[at].by {
			n.By = append(n.By, savedUse{[]byte(by.dir), []byte(by.git)})
		}
		out.Named = append(out.Named, n)
	}
}

func (in *saved) loadUse() gitUse {
	u := gitUse{uses: map[use]bool{}, commons: map[string]bool{}, named: map[string]naming{},
		routes: map[use]git.Routes{}}
	for _, r := range in.Routes {
		u.routes[use{string(r.By.Dir), string(r.By.Git)}] = r.Routes
	}
	for _, by := range in.Uses {
		u.uses[use{string(by.Dir), string(by.Git)}] = true
	}
	for _, dir := range in.Commons {
		u.commons[string(dir)] = true
	}
	for _, n := range in.Named {
		names := naming{config: n.Config, whole: n.Whole}
		for _, by := range n.By {
			names.by = append(names.by, use{string(by.Dir), string(by.Git)})
		}
		u.named[string(n.Path)] = names
	}
	return u
}

// strictly decodes one JSON value that has no fields but those of v, and nothing
// behind it.
func strictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("there is more than one value")
	}
	return nil
}

// saysSame reports whether two looks of one profile saw the same.
func (f found) saysSame(o found) bool {
	return f.partly == o.partly && slices.Equal(f.roots, o.roots) && slices.Equal(f.ids, o.ids) &&
		maps.Equal(f.repos, o.repos) && f.gitUse.same(o.gitUse) &&
		maps.EqualFunc(f.entries, o.entries, func(a, b entry) bool {
			return a.stamp == b.stamp && a.anchor == b.anchor && a.deep == b.deep && a.doubtful == b.doubtful &&
				a.aliased == b.aliased && (a.content == nil) == (b.content == nil) && bytes.Equal(a.content, b.content)
		})
}
