package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/internal/modes"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox/stage"
)

// share is a directory of a place that its sandboxes have as the same private directory. All of them have the same
// mounts in it, directly and not below plain directories: the kernel refuses to rename or remove a mount point (EBUSY),
// so that no command can exchange one of the next command's.
type share struct {
	dir    string          // of the host
	points map[string]bool // paths of mount points in it, relative: whether that is a directory
}

// share puts the place's directory in the place of a private one of the plan. One that has none, or mounts below plain
// directories in it, is unchanged.
func (p *Plan) share(private string) error {
	at, count := p.tmpfsOf(private)
	points, ok := p.pointsIn(private)
	if at < 0 || !ok {
		return nil
	}
	s, err := p.place.share(private, points)
	if err != nil {
		return err
	}
	if p.shared = maps.Clone(p.shared); p.shared == nil {
		p.shared = map[string]string{}
	}
	p.shared[private] = s.dir
	if p.operations != nil {
		bind := stage.Operation{Kind: stage.OpBind, Flags: stage.OpCreates, Path: private, Text: s.dir}
		p.operations = slices.Concat(p.operations[:at], []stage.Operation{bind}, p.operations[at+count:])
		return nil
	}
	p.args = slices.Concat(p.args[:at], []string{"--bind", s.dir, private}, p.args[at+count:])
	return nil
}

// tmpfsOf returns where the plan makes a private directory, and how many of bwrap's arguments do; -1: nowhere.
func (p *Plan) tmpfsOf(private string) (at, count int) {
	if p.operations != nil {
		return slices.IndexFunc(p.operations, func(op stage.Operation) bool {
			return op.Kind == stage.OpTmpfs && op.Path == private && op.Mode == 0o700
		}), 1
	}
	for i := 2; i+1 < len(p.args); i++ {
		if p.args[i] != "--tmpfs" || p.args[i+1] != private {
			continue
		}
		begin := i
		for begin >= 2 && (p.args[begin-2] == "--perms" || p.args[begin-2] == "--size") {
			begin -= 2
		}
		if p.args[begin] == "--perms" && p.args[begin+1] == "0700" {
			return begin, i + 2 - begin
		}
	}
	return -1, 0
}

// pointsIn returns the mount points that lie in a private directory itself, by relative paths, and whether each is a
// directory. ok is false where a plain directory leads to one.
func (p *Plan) pointsIn(private string) (points map[string]bool, ok bool) {
	points, ok = map[string]bool{}, true
	add := func(path string, directory bool) {
		parent := abspath.Parent(path)
		_, mounted := p.holds[parent]
		switch {
		case parent == private:
			points[path[len(private)+1:]] = directory
		case !mounted && strings.HasPrefix(path, private+"/"):
			ok = false
		}
	}
	for _, path := range p.mounts {
		info, err := os.Lstat(path)
		add(path, err != nil || info.IsDir()) // a private directory need not be there
	}
	for _, f := range p.files {
		add(f.Path, false)
	}
	return points, ok
}

// share returns the place's share for a private directory with these mounts in it, and makes it where there is none.
func (at *Place) share(private string, points map[string]bool) (*share, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v", private, points)) // %v sorts
	key := filepath.Base(private) + "-" + hex.EncodeToString(sum[:8])
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.closed {
		return nil, errPlaceClosed
	}
	if s := at.shares[key]; s != nil {
		return s, nil
	}
	s := &share{filepath.Join(at.dir, key), points}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the session's %s: %w", private, err)
	}
	at.shares[key] = s
	return s, nil
}

// Empty removes the files of commands from the place's directories, also where modes forbid that; mount points remain.
// Commands may change it meanwhile: nothing outside is reached.
func (at *Place) Empty() {
	at.mu.Lock()
	shares := slices.Collect(maps.Values(at.shares))
	at.mu.Unlock()
	for _, s := range shares {
		dir, err := os.Open(s.dir)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			if _, mounted := s.points[name]; !mounted {
				_ = modes.RemoveAllIn(dir, name)
			}
		}
		dir.Close()
	}
}
