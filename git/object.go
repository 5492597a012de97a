package git

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ObjectType is the type of an object (gitglossary(7)).
type ObjectType string

// The types of objects. NoObject is the type of a name that names none.
const (
	NoObject ObjectType = ""
	Commit   ObjectType = "commit"
	Tree     ObjectType = "tree"
	Blob     ObjectType = "blob"
	Tag      ObjectType = "tag"
)

const (
	maxStores   = 20       // object directories of a repository
	maxPacks    = 2000     // pack files of an object directory
	maxChain    = 5000     // deltas and tags that are followed for one object
	maxBucket   = 64 << 20 // bytes of a pack's index that are read at once
	maxMatching = 1000     // objects that share an abbreviation
)

// Objects reads the types of a repository's objects. It reads no contents.
type Objects struct {
	Host Host
	Repo Repository
	// Hash is the number of bytes in an object's id: 20, or 32 with SHA-256.
	Hash int
	// Over reports whether the time for reading has passed; nil is never.
	Over func() bool

	packedRefs []byte // the file packed-refs, once it was read
	steps      int
}

var (
	errObject  = errors.New("the object has a form that is not understood")
	hexID      = regexp.MustCompile(`^[0-9a-fA-F]{4,64}$`)
	describeID = regexp.MustCompile(`-g([0-9a-fA-F]{4,64})$`)
)

// HashSize returns the number of bytes in an object's id in a repository with these settings.
func HashSize(settings []Setting) int {
	if slices.ContainsFunc(settings, func(s Setting) bool {
		return s.Key() == "extensions.objectformat" && s.Value == "sha256"
	}) {
		return 32
	}
	return 20
}

// Type returns the type of the object that a name means to git without ^, ~, @{ or : behind it (gitrevisions(7)): an
// id, an abbreviation of one, output of git describe, or a reference. A tag counts as its target. Where several
// objects fit, one that is a blob counts. It fails where a file has a form that it does not understand.
func (o *Objects) Type(name string) (ObjectType, error) {
	ids, err := o.ids(name)
	if err != nil {
		return NoObject, fmt.Errorf("find the object %q: %w", name, err)
	}
	o.steps = 0
	found := NoObject
	for _, id := range ids {
		t, err := o.typeOf(id)
		if err != nil {
			return NoObject, fmt.Errorf("find the object %q: %w", name, err)
		}
		if found == NoObject || t == Blob {
			found = t
		}
	}
	return found, nil
}

// ids returns the objects that a name can mean, in git's order (object-name.c, get_oid_1).
func (o *Objects) ids(name string) ([]string, error) {
	if len(name) == 2*o.Hash && hexID.MatchString(name) {
		return []string{strings.ToLower(name)}, nil
	}
	if id, err := o.reference(name); id != "" || err != nil {
		return []string{id}, err
	}
	if m := describeID.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if !hexID.MatchString(name) || len(name) > 2*o.Hash {
		return nil, nil
	}
	return o.matching(strings.ToLower(name))
}

// typeOf returns the type of an object, of its replacement where it has one (git-replace(1)), and of a tag's target.
func (o *Objects) typeOf(id string) (ObjectType, error) {
	if o.steps++; o.steps > maxChain || o.Over != nil && o.Over() {
		return NoObject, errors.New("there was no time to")
	}
	if to, err := o.resolve("refs/replace/" + id); err != nil {
		return NoObject, err
	} else if to != "" && to != id {
		return o.typeOf(to)
	}
	stores, err := o.stores()
	if err != nil {
		return NoObject, err
	}
	found := NoObject
	for _, dir := range stores {
		t, err := o.stored(dir, id)
		if err != nil {
			return NoObject, err
		}
		if found == NoObject || t == Blob {
			found = t
		}
	}
	return found, nil
}

// stored returns the type of an object in one directory of objects.
func (o *Objects) stored(dir, id string) (ObjectType, error) {
	found, err := o.loose(path.Join(dir, id[:2], id[2:]))
	if err != nil || found == Blob {
		return found, err
	}
	packs, err := o.packs(dir)
	if err != nil {
		return NoObject, err
	}
	for _, pack := range packs {
		at, err := o.lookup(pack, id)
		if err != nil {
			return NoObject, err
		}
		for _, e := range at {
			t, err := o.packed(pack, e.offset)
			if err != nil {
				return NoObject, err
			}
			if found == NoObject || t == Blob {
				found = t
			}
		}
	}
	return found, nil
}

// loose returns the type of an object in a file of its own (gitformat-loose(5)).
func (o *Objects) loose(name string) (ObjectType, error) {
	b, err := o.Host.ReadAt(name, 0, 4096)
	if absent(err) {
		return NoObject, nil
	}
	if err != nil {
		return NoObject, err
	}
	head, err := inflate(b, 512)
	if err != nil {
		return NoObject, err
	}
	word, rest, _ := strings.Cut(string(head), " ")
	_, content, _ := strings.Cut(rest, "\x00")
	return o.peel(ObjectType(word), content)
}

// peel returns the type of a tag's target for a tag, and the type itself for other objects.
func (o *Objects) peel(t ObjectType, content string) (ObjectType, error) {
	switch t {
	case Commit, Tree, Blob:
		return t, nil
	case Tag:
		first, _, _ := strings.Cut(content, "\n")
		id, ok := strings.CutPrefix(first, "object ")
		if ok && len(id) == 2*o.Hash && hexID.MatchString(id) {
			return o.typeOf(strings.ToLower(id))
		}
	}
	return NoObject, errObject
}

// inflate returns up to most bytes of a zlib stream.
func inflate(b []byte, most int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, errObject
	}
	defer z.Close()
	out := make([]byte, most)
	n, err := io.ReadFull(z, out)
	if n == 0 && err != nil {
		return nil, errObject
	}
	return out[:n], nil
}

// matching returns the ids that begin with an abbreviation.
func (o *Objects) matching(prefix string) ([]string, error) {
	stores, err := o.stores()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range stores {
		names, err := o.Host.ReadDir(path.Join(dir, prefix[:2]))
		if err != nil && !absent(err) {
			return nil, err
		}
		for _, e := range names {
			if id := prefix[:2] + e.Name(); strings.HasPrefix(id, prefix) && len(id) == 2*o.Hash && hexID.MatchString(id) {
				out = append(out, id)
			}
		}
		packs, err := o.packs(dir)
		if err != nil {
			return nil, err
		}
		for _, pack := range packs {
			found, err := o.lookup(pack, prefix)
			if err != nil {
				return nil, err
			}
			for _, e := range found {
				out = append(out, e.id)
			}
		}
		if len(out) > maxMatching {
			return nil, errors.New("it is an abbreviation of too many")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// stores returns the repository's directories of objects, those of its alternates included
// (gitrepository-layout(5)).
func (o *Objects) stores() ([]string, error) {
	out := []string{path.Join(o.Repo.Common, "objects")}
	for at := 0; at < len(out); at++ {
		text, err := o.Host.ReadFile(path.Join(out[at], "info/alternates"), 1<<16)
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "", line[0] == '#':
				continue
			case line[0] == '"':
				unquoted, err := strconv.Unquote(line)
				if err != nil {
					return nil, errObject
				}
				line = unquoted
			}
			if !path.IsAbs(line) {
				line = out[at] + "/" + line
			}
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
		if len(out) > maxStores {
			return nil, errors.New("there are too many alternates")
		}
	}
	return out, nil
}
