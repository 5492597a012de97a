package facts

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"sandboxd/shell"
)

const (
	maxWalk  = 20000 // directory entries that are looked at for attribute files
	maxIndex = 64 << 20
	maxSubs  = 50
)

// drivers finds the attribute drivers with a program. One that the repository
// itself configures counts at once; one of the user's or the system's only if
// some attribute file selects it.
func (g *gatherer) drivers(repo repository, settings []setting, fact *shell.GitFact) error {
	programs := map[string]setting{} // "filter.lfs" → one of its settings
	for _, s := range settings {
		name := s.section + "." + s.sub
		switch {
		case s.sub == "" || s.value == "":
			continue
		case s.section == "filter" && (s.name == "clean" || s.name == "smudge" || s.name == "process"),
			s.section == "diff" && (s.name == "textconv" || s.name == "command"),
			s.section == "merge" && s.name == "driver":
		default:
			continue
		}
		if s.local && s.section != "merge" {
			fact.Programs = append(fact.Programs, shell.GitProgram{Key: s.key(), Value: clip(s.value), Origin: s.file})
		}
		if _, known := programs[name]; !known || s.section == "diff" && s.name == "command" {
			programs[name] = s
		}
	}
	if len(programs) == 0 {
		return nil
	}
	selected, err := g.selected(repo, settings)
	if err != nil {
		return err
	}
	for name, s := range programs {
		switch {
		case s.section == "merge":
		case selected[name] && !s.local:
			fact.Programs = append(fact.Programs, shell.GitProgram{Key: s.key(), Value: clip(s.value), Origin: s.file})
		case !s.local:
			fact.Drivers = append(fact.Drivers, name)
		}
	}
	slices.SortFunc(fact.Programs, func(a, b shell.GitProgram) int { return strings.Compare(a.Key, b.Key) })
	slices.Sort(fact.Drivers)
	return nil
}

// selected reads every attribute file and returns the drivers that are named.
func (g *gatherer) selected(repo repository, settings []setting) (map[string]bool, error) {
	out := map[string]bool{}
	files := []string{"/etc/gitattributes", path.Join(repo.common, "info/attributes")}
	if g.o.Home != "" {
		files = append(files, path.Join(g.o.Home, ".config/git/attributes"))
	}
	for _, s := range settings {
		if s.section == "core" && s.name == "attributesfile" && s.value != "" {
			to, err := includePath(s.value, s.file, g.o.Home)
			if err != nil {
				return nil, err
			}
			files = append(files, to)
		}
	}
	if repo.worktree != "" {
		more, err := g.attributeFiles(repo.worktree)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, f := range files {
		if err := attributes(f, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// attributes notes the drivers that an attribute file names.
func attributes(name string, into map[string]bool) error {
	text, err := readSmall(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		for _, attr := range []string{"filter", "diff", "merge"} {
			if value, ok := strings.CutPrefix(word, attr+"="); ok {
				into[attr+"."+value] = true
			}
		}
	}
	return nil
}

// attributeFiles finds the .gitattributes files of a work tree.
func (g *gatherer) attributeFiles(root string) ([]string, error) {
	var out []string
	seen := 0
	dirs := []string{root}
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := os.ReadDir(dir)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && dir != root {
				continue
			}
			return nil, fmt.Errorf("look for attributes in %q: %s", dir, reason(err))
		}
		if seen += len(entries); seen > maxWalk || g.over() {
			return nil, fmt.Errorf("look for attributes in %q: there are too many files", root)
		}
		for _, e := range entries {
			switch {
			case e.Name() == ".gitattributes":
				out = append(out, path.Join(dir, e.Name()))
			case e.IsDir() && e.Name() != ".git":
				dirs = append(dirs, path.Join(dir, e.Name()))
			}
		}
	}
	return out, nil
}

// submodules reads the configuration of the repositories within the work tree
// into which git status and git diff descend: those that the index has as links.
func (g *gatherer) submodules(repo repository, settings []setting, fact *shell.GitFact) error {
	if repo.worktree == "" {
		return nil
	}
	hash := 20
	if slices.ContainsFunc(settings, func(s setting) bool { return s.key() == "extensions.objectformat" && s.value == "sha256" }) {
		hash = 32
	}
	links, err := gitLinks(path.Join(repo.dir, "index"), hash, 0)
	if err != nil {
		return err
	}
	if len(links) > maxSubs {
		return fmt.Errorf("read submodules of %q: there are more than %d", repo.worktree, maxSubs)
	}
	for _, link := range links {
		at := path.Join(repo.worktree, link)
		if !strings.HasPrefix(at, repo.worktree+"/") {
			return fmt.Errorf("read submodule %q: it leaves the work tree", link)
		}
		if _, err := os.Lstat(path.Join(at, ".git")); err != nil {
			continue // not checked out
		}
		sub, found, err := findRepository(at)
		if err != nil {
			return err
		}
		if !found || sub.dir == repo.dir || g.over() {
			return fmt.Errorf("read submodule %q: its repository was not found", link)
		}
		var inner shell.GitFact
		if err := g.inspect(sub, true, &inner); err != nil {
			return err
		}
		for _, p := range inner.Programs {
			if !slices.ContainsFunc(fact.Programs, func(q shell.GitProgram) bool { return q.Key == p.Key && q.Origin == p.Origin }) {
				fact.Programs = append(fact.Programs, p)
			}
		}
		for _, d := range inner.Drivers {
			if !slices.Contains(fact.Drivers, d) {
				fact.Drivers = append(fact.Drivers, d)
			}
		}
	}
	slices.Sort(fact.Drivers)
	return nil
}

// gitLinks lists the paths that an index holds as links to other repositories
// (mode 160000; gitformat-index(5)).
func gitLinks(name string, hash, depth int) ([]string, error) {
	b, err := readSmall(name, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	odd := fmt.Errorf("read %q: %w", name, errors.New("the index has a form that is not understood"))
	if len(b) < 12 || string(b[:4]) != "DIRC" {
		return nil, odd
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return nil, odd
	}
	var links []string
	prev := ""
	at := 12
	for range count {
		if at+40+hash+2 > len(b) {
			return nil, odd
		}
		mode := binary.BigEndian.Uint32(b[at+24:])
		flags := binary.BigEndian.Uint16(b[at+40+hash:])
		pos := at + 42 + hash
		if flags&0x4000 != 0 && version >= 3 {
			pos += 2
		}
		var entry string
		if version == 4 {
			strip, used := varint(b[min(pos, len(b)):])
			pos += used
			if used == 0 || strip > len(prev) {
				return nil, odd
			}
			end := slices.Index(b[min(pos, len(b)):], 0)
			if end < 0 {
				return nil, odd
			}
			entry = prev[:len(prev)-strip] + string(b[pos:pos+end])
			at = pos + end + 1
		} else {
			end := slices.Index(b[min(pos, len(b)):], 0)
			if end < 0 {
				return nil, odd
			}
			entry = string(b[pos : pos+end])
			size := pos + end - at
			at += size + 8 - size%8
		}
		prev = entry
		if mode&0o170000 == 0o160000 {
			links = append(links, entry)
		}
	}
	shared, err := sharedIndex(b[min(at, len(b)):], hash)
	if err != nil || depth > 0 && shared != "" {
		return nil, odd
	}
	if shared == "" {
		return links, nil
	}
	more, err := gitLinks(path.Join(path.Dir(name), "sharedindex."+shared), hash, depth+1)
	return append(links, more...), err
}

// sharedIndex finds the extension of a split index that names the file with
// the other entries.
func sharedIndex(ext []byte, hash int) (string, error) {
	for len(ext) >= hash+8 {
		size := int(binary.BigEndian.Uint32(ext[4:]))
		if size < 0 || size > len(ext)-8 {
			return "", errOdd
		}
		if string(ext[:4]) == "link" {
			if size < hash {
				return "", errOdd
			}
			return hex.EncodeToString(ext[8 : 8+hash]), nil
		}
		ext = ext[8+size:]
	}
	return "", nil
}

// varint reads the offset encoding of index version 4.
func varint(b []byte) (n, used int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
	}
	return 0, 0
}
