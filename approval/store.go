package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"sandboxd/internal/durable"
)

// Store keeps persistent grants. Calls do not overlap.
type Store interface {
	// Load returns the grants that are to hold. It may return both grants and
	// an error, which then names the fault and says that the last good state is
	// used.
	Load() ([]Grant, error)
	// Save replaces everything that is kept, or fails and leaves it.
	Save([]Grant) error
}

// storeVersion is the version of the file's form.
const storeVersion = 1

// FileStore keeps grants in one JSON file (grants.json), written to a
// temporary file, synced and renamed, mode 0600. Beside it is PATH.last, the
// state before the latest write, which Load falls back to when the file is
// broken; the broken file is then kept as PATH.broken by the next Save.
type FileStore struct {
	path string
	good []Grant // the last state that was read or written
	read bool    // good is valid
}

// NewFileStore names the file. Its folder must exist, be ours alone, and lie
// in nothing that a sandbox can write. Nothing is read yet.
func NewFileStore(path string) *FileStore { return &FileStore{path: path} }

// BrokenError says that the grants file could not be used, and names its replacement.
type BrokenError struct {
	Path string
	// Using is where the grants in force came from: "the state in memory",
	// "FILE.last", or "no grants".
	Using string
	Err   error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("read grants %q: %v; continuing with %s", e.Path, e.Err, e.Using)
}

func (e *BrokenError) Unwrap() error { return e.Err }

type grantFile struct {
	Version int       `json:"version"`
	Written time.Time `json:"written"`
	Grants  []Grant   `json:"grants"`
}

// Load reads the file. A missing file is no grants. A broken one gives the
// last good state together with a *BrokenError.
func (s *FileStore) Load() ([]Grant, error) {
	grants, err := readGrants(s.path)
	switch {
	case err == nil:
		s.good, s.read = grants, true
		return slices.Clone(grants), nil
	case errors.Is(err, fs.ErrNotExist) && !s.read:
		if _, lastErr := os.Lstat(s.path + ".last"); errors.Is(lastErr, fs.ErrNotExist) {
			s.good, s.read = nil, true
			return nil, nil
		}
	}
	if s.read {
		return slices.Clone(s.good), &BrokenError{s.path, "the state in memory", err}
	}
	last := s.path + ".last"
	grants, lastErr := readGrants(last)
	if lastErr != nil {
		return nil, &BrokenError{s.path, "no grants", errors.Join(err, lastErr)}
	}
	s.good, s.read = grants, true
	return slices.Clone(grants), &BrokenError{s.path, last, err}
}

// Save writes grants. An error leaves the file as it was.
func (s *FileStore) Save(grants []Grant) error {
	data, err := json.MarshalIndent(grantFile{storeVersion, time.Now().UTC(), grants}, "", "\t")
	if err != nil {
		return fmt.Errorf("write grants %q: %w", s.path, err)
	}
	if err := s.setAside(); err != nil {
		return fmt.Errorf("write grants %q: %w", s.path, err)
	}
	data = durable.Seal(append(data, '\n'))
	if err := renameio.WriteFile(s.path, data, 0o600, renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("write grants %q: %w", s.path, err)
	}
	if err := syncDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("write grants %q: %w", s.path, err)
	}
	s.good, s.read = slices.Clone(grants), true
	return nil
}

// setAside keeps the file that Save is about to replace.
func (s *FileStore) setAside() error {
	old, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	name := s.path + ".last"
	if _, err := parseGrants(old); err != nil {
		name = s.path + ".broken"
	}
	return renameio.WriteFile(name, old, 0o600, renameio.WithStaticPermissions(0o600))
}

// syncDir makes a rename durable (fsync(2), notes on directories).
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func readGrants(path string) ([]Grant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseGrants(data)
}

// parseGrants is strict: a file that says anything we do not understand is
// broken, for a restriction could be among it.
func parseGrants(data []byte) ([]Grant, error) {
	var head struct {
		Version int `json:"version"`
	}
	data, err := durable.Unseal(data)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Version != storeVersion {
		return nil, fmt.Errorf("version %d, and this program knows %d", head.Version, storeVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var f grantFile
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range f.Grants {
		if err := f.Grants[i].validate(); err != nil {
			return nil, fmt.Errorf("grant %d: %w", i+1, err)
		}
		if seen[f.Grants[i].ID] {
			return nil, fmt.Errorf("grant %d: id %q is used twice", i+1, f.Grants[i].ID)
		}
		seen[f.Grants[i].ID] = true
	}
	return f.Grants, nil
}

// validate checks a grant that comes from outside.
func (g *Grant) validate() error {
	switch {
	case g.ID == "":
		return errors.New("no id")
	case g.Effect != Allow && g.Effect != Deny:
		return fmt.Errorf("grant %q: unknown effect %q", g.ID, g.Effect)
	case !g.Scope.persistent():
		return fmt.Errorf("grant %q: scope %q is not kept in a file", g.ID, g.Scope)
	case g.Scope == ScopeAgent && g.Agent == "":
		return fmt.Errorf("grant %q: scope agent without an agent", g.ID)
	case g.Scope == ScopeProject && !filepath.IsAbs(g.Project):
		return fmt.Errorf("grant %q: scope project without a directory", g.ID)
	case g.Created.IsZero():
		return fmt.Errorf("grant %q: no creation time", g.ID)
	}
	return g.Match.Validate()
}
