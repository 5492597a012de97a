package facts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sandboxd/git"
	"sandboxd/pattern"
	"sandboxd/shell"
	"sandboxd/shell/analysis"
)

// Options are the limits and directories of the gathering. The zero value is the default.
type Options struct {
	// SearchPath lists the directories in which command names are looked up. If empty,
	// shell.DefaultSearchPath is used.
	SearchPath []string
	// UserPath lists further directories for commands. A command found only there is marked as
	// writable, so it asks.
	UserPath []string
	// Held reports that no command can write an absolute path, where it is not the system's: a program there may run
	// unasked as the system's may. nil: none.
	Held func(abs string) bool
	// Home is the directory with the user's git configuration; "" means none.
	Home string
	// Timeout is the limit for all facts together; 0 means one second.
	Timeout time.Duration
	// MaxContent is the size in bytes of the largest file that is hashed; 0 means 16 MiB.
	MaxContent int64
}

const (
	maxMatches = 2000
	maxNames   = 100 * maxMatches // in one directory
	maxQueries = 2000
	maxRounds  = 8
)

// Judge judges a command and gathers the facts that the verdict needs. The verdict is Unseen if
// facts are still missing after maxRounds rounds.
func Judge(ctx context.Context, tool *shell.Tool, c shell.Command, o Options) (shell.Verdict, shell.Facts) {
	if len(o.SearchPath) == 0 {
		o.SearchPath = tool.SearchPath()
	}
	if o.Home == "" {
		o.Home = c.Home
	}
	var known shell.Facts
	v := tool.Judge(c, known)
	for range maxRounds {
		if len(v.NeedsFacts) == 0 {
			break
		}
		known = Gather(ctx, o, known, v.NeedsFacts)
		v = tool.Judge(c, known)
	}
	v.Unseen = v.Unseen || len(v.NeedsFacts) > 0
	return v, known
}

// Gather answers the queries and returns the answers together with the known facts. A query
// that cannot be answered in time gets a fact with an error.
func Gather(ctx context.Context, o Options, known shell.Facts, queries []shell.FactQuery) shell.Facts {
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.MaxContent == 0 {
		o.MaxContent = 16 << 20
	}
	if len(o.SearchPath) == 0 {
		o.SearchPath = shell.DefaultSearchPath
	}
	out := clone(known)
	g := gatherer{ctx: ctx, end: time.Now().Add(o.Timeout), o: o}
	for i, q := range queries {
		late := ""
		switch {
		case g.over():
			late = "there was no time to find out"
		case i >= maxQueries:
			late = "too many things to find out"
		}
		g.answer(&out, q, late)
	}
	return out
}

func clone(f shell.Facts) shell.Facts {
	return shell.Facts{
		Paths:     copied(f.Paths),
		Globs:     copied(f.Globs),
		Git:       copied(f.Git),
		Binaries:  copied(f.Binaries),
		Contents:  copied(f.Contents),
		Makefiles: copied(f.Makefiles),
		Objects:   copied(f.Objects),
	}
}

func copied[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

type gatherer struct {
	ctx context.Context
	end time.Time // deadline of all queries; zero: none. A timer for each command would cost more than the queries
	o   Options
}

// over reports whether the time is up.
func (g *gatherer) over() bool {
	return g.ctx.Err() != nil || !g.end.IsZero() && time.Now().After(g.end)
}

func (g *gatherer) answer(out *shell.Facts, q shell.FactQuery, late string) {
	switch q.Kind {
	case shell.FactPath:
		f := shell.PathFact{Err: late}
		if late == "" {
			f = g.path(q.Name)
		}
		put(&out.Paths, q.Name, f)
	case shell.FactGlob:
		f := shell.GlobFact{Err: late}
		if late == "" {
			f = g.glob(q.Name)
		}
		put(&out.Globs, q.Name, f)
	case shell.FactGit:
		f := shell.GitFact{Err: late}
		if late == "" {
			f = g.git(q.Name)
		}
		put(&out.Git, q.Name, f)
	case shell.FactBinary:
		f := shell.BinaryFact{Path: q.Name, Writable: true}
		if late == "" {
			f = g.binary(q.Name)
		}
		put(&out.Binaries, q.Name, f)
	case shell.FactMakefile:
		put(&out.Makefiles, q.Name, g.makefile(q.Name))
	case shell.FactObject:
		f := shell.ObjectFact{Err: late}
		if late == "" {
			f = g.object(q.Name)
		}
		put(&out.Objects, q.Name, f)
	case shell.FactContent:
		f := shell.ContentFact{Err: late}
		if late == "" {
			f = g.content(q.Name)
		}
		put(&out.Contents, q.Name, f)
	}
}

// reason returns a file error without the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// path resolves a path as the kernel does: from left to right, so ".." after a link is the
// parent of the link's target.
func (g *gatherer) path(name string) shell.PathFact {
	if !strings.HasPrefix(name, "/") {
		return shell.PathFact{Err: "the path is not absolute"}
	}
	real, missing, err := resolve(name)
	if err != nil {
		return shell.PathFact{Err: reason(err)}
	}
	f := shell.PathFact{Real: real, Exists: !missing}
	if missing {
		return f
	}
	info, err := os.Lstat(real)
	if err != nil {
		return shell.PathFact{Err: reason(err)}
	}
	f.Dir = info.IsDir()
	f.Special = !info.IsDir() && !info.Mode().IsRegular()
	return f
}

func resolve(name string) (real string, missing bool, err error) { return git.Resolve(git.Disk, name) }

// glob lists the real paths of the matches of a pattern, which has the syntax of package
// analysis.
func (g *gatherer) glob(glob string) shell.GlobFact {
	dirs := []string{"/"}
	for elem := range strings.SplitSeq(strings.Trim(analysis.PathPattern(glob), "/"), "/") {
		var next []string
		for _, dir := range dirs {
			found, err := g.matches(dir, elem)
			if err != nil {
				return shell.GlobFact{Err: reason(err)}
			}
			next = append(next, found...)
			if len(next) > maxMatches || g.over() {
				return shell.GlobFact{Cut: true}
			}
		}
		dirs = next
	}
	var f shell.GlobFact
	for _, name := range dirs {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // a name without wildcards behind one with them
		}
		real, _, err := resolve(name)
		if err != nil {
			return shell.GlobFact{Err: reason(err)}
		}
		if real != name {
			f.Real = append(f.Real, real)
		} else if info, err := os.Lstat(real); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return shell.GlobFact{Err: filepath.Base(real) + " is a device, pipe or socket"}
		} else {
			f.Real = append(f.Real, real)
		}
	}
	return f
}

func (g *gatherer) matches(dir, text string) ([]string, error) {
	elem, err := pattern.ParseElement(text)
	if err != nil {
		return nil, errors.New("the pattern is malformed")
	}
	if name, ok := elem.Literal(); ok && name == text {
		return []string{strings.TrimSuffix(dir, "/") + "/" + name}, nil
	}
	names, err := entries(dir, maxNames)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	// In bash before 5.2, .* also matches the directory and its parent.
	for _, n := range append(names, ".", "..") {
		if strings.HasPrefix(n, ".") && !strings.HasPrefix(text, ".") {
			continue
		}
		if elem.Match(n) {
			out = append(out, strings.TrimSuffix(dir, "/")+"/"+n) // not path.Join: link/.. is the parent of the link's target
		}
	}
	return out, nil
}

// entries returns the names in a directory. It returns an error if there are more than most.
func entries(dir string, most int) ([]string, error) {
	d, err := git.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(most + 1)
	if len(names) > most {
		return nil, errors.New("there are too many files in " + dir)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// binary finds the file that a command name resolves to.
func (g *gatherer) binary(name string) shell.BinaryFact {
	if name == "" || strings.Contains(name, "/") {
		return shell.BinaryFact{Path: name, Writable: true}
	}
	for _, dir := range g.o.SearchPath {
		if f, ok := executable(dir, name); ok {
			f.Writable = f.Writable && !(f.Real != "" && g.o.Held != nil && g.o.Held(dir) && g.o.Held(f.Real))
			return f
		}
	}
	for _, dir := range g.o.UserPath {
		if f, ok := executable(dir, name); ok {
			f.Writable = true
			return f
		}
	}
	return shell.BinaryFact{}
}

func executable(dir, name string) (shell.BinaryFact, bool) {
	file := path.Join(dir, name)
	var st syscall.Stat_t
	if stat(file, &st) != nil || st.Mode&syscall.S_IFMT == syscall.S_IFDIR || st.Mode&0o111 == 0 {
		return shell.BinaryFact{}, false
	}
	real, missing, err := resolve(file)
	if err != nil || missing {
		return shell.BinaryFact{Path: file, Writable: true}, true
	}
	f := shell.BinaryFact{Path: file, Real: real}
	f.Writable = !ownedBySystem(real) || !ownedBySystem(path.Dir(real)) ||
		path.Dir(file) != path.Dir(real) && !ownedBySystem(path.Dir(file))
	return f, true
}

// content hashes a regular file.
func (g *gatherer) content(name string) shell.ContentFact {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return shell.ContentFact{}
	}
	if err != nil {
		return shell.ContentFact{Err: reason(err)}
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return shell.ContentFact{Err: reason(err)}
	case info.IsDir():
		return shell.ContentFact{}
	case !info.Mode().IsRegular():
		return shell.ContentFact{Exists: true, Err: "not a regular file"}
	case info.Size() > g.o.MaxContent:
		return shell.ContentFact{Exists: true, Err: "larger than what is hashed"}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(file, g.o.MaxContent+1)); err != nil {
		return shell.ContentFact{Exists: true, Err: reason(err)}
	}
	return shell.ContentFact{Exists: true, Hash: "sha256:" + hex.EncodeToString(h.Sum(nil))}
}
