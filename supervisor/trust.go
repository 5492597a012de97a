package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"sandboxd/internal/durable"
)

// Trust is a person's word that sandboxes may write below a directory. It is
// kept by user, real path, and which directory it is: one that was replaced or
// moved has to be trusted again (R-IP-07).
type Trust struct {
	UID int    `json:"uid"`
	Dir string `json:"dir"`
	identity
	// Contained: commands there run unasked where their effects stay there and can be undone.
	Contained bool `json:"contained,omitempty"`
	// Remotes are the addresses of the repository's remotes at that time.
	Remotes []string `json:"remotes,omitempty"`
	// Session: the policy "contained" was chosen for one session. Later questions offer it again.
	Session bool      `json:"session,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// identity distinguishes directories. The time of birth belongs to it
// because a file system gives the next directory the number of one that was removed.
type identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Born   int64  `json:"born,omitempty"` // Unix nanoseconds; 0: the file system does not tell
}

// TrustStore keeps trusts in one file, rewritten whole.
type TrustStore struct {
	path string

	mu   sync.Mutex
	list []Trust
}

type trustFile struct {
	Version int     `json:"version"`
	Trusted []Trust `json:"trusted"`
}

const trustVersion = 1

// OpenTrust reads the store at path; a file that does not exist is an empty
// store. A broken one is an error: nothing is trusted on a guess, and nothing
// is overwritten.
func OpenTrust(path string) (*TrustStore, error) {
	s := &TrustStore{path: path}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		b, err = durable.Unseal(b)
	}
	var f trustFile
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("read trusted directories %q: %w; move it away to start with none, and trust them again "+
			"(sbx trust)", path, err)
	}
	if f.Version != trustVersion {
		return nil, fmt.Errorf("read trusted directories %q: version %d, this daemon knows %d", path, f.Version, trustVersion)
	}
	s.list = f.Trusted
	return s, nil
}

// Trusted reports whether the real directory dir is trusted by uid as it is
// on disk now.
func (s *TrustStore) Trusted(uid int, dir string) bool {
	_, ok := s.find(uid, dir)
	return ok
}

// contained reports whether it was trusted with the policy "contained".
func (s *TrustStore) contained(uid int, dir string) bool {
	t, ok := s.find(uid, dir)
	return ok && t.Contained
}

func (s *TrustStore) find(uid int, dir string) (Trust, bool) {
	id, err := identityOf(dir)
	if err != nil {
		return Trust{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(t Trust) bool { return t.UID == uid && t.Dir == dir && t.identity == id })
	if i < 0 {
		return Trust{}, false
	}
	return s.list[i], true
}

// inSession reports whether the policy "contained" was chosen for one session of it.
func (s *TrustStore) inSession(uid int, dir string) bool {
	t, ok := s.find(uid, dir)
	return ok && t.Session
}

// add trusts the real directory t.Dir for t.UID as it is now. It is on disk when add returns.
func (s *TrustStore) add(t Trust) (Trust, error) {
	id, err := identityOf(t.Dir)
	if err != nil {
		return Trust{}, fmt.Errorf("trust %q: %w", t.Dir, err)
	}
	t.identity, t.At = id, time.Now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.list), func(o Trust) bool { return o.UID == t.UID && o.Dir == t.Dir })
	return t, s.save(append(list, t))
}

// remove withdraws the trust of dir and reports whether there was one.
func (s *TrustStore) remove(uid int, dir string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.list), func(o Trust) bool { return o.UID == uid && o.Dir == dir })
	if len(list) == len(s.list) {
		return false, nil
	}
	return true, s.save(list)
}

// List returns uid's trusted directories.
func (s *TrustStore) List(uid int) []Trust {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.list), func(t Trust) bool { return t.UID != uid })
}

// save writes list and makes it current; mu is held.
func (s *TrustStore) save(list []Trust) error {
	b, err := json.MarshalIndent(trustFile{Version: trustVersion, Trusted: list}, "", "  ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(s.path, durable.Seal(append(b, '\n')), 0o600); err != nil {
		return fmt.Errorf("keep trusted directories: %w", err)
	}
	s.list = list
	return nil
}
