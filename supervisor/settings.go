package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/internal/durable"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// SettingsStore keeps what people set for single projects, beside their trust: never in a project, where commands
// write. It is one file, rewritten whole.
type SettingsStore struct {
	path string

	mu   sync.Mutex
	list []ownSettings
}

// ownSettings are those of one user for one directory, by which directory it is: one that replaces it has none.
type ownSettings struct {
	UID int    `json:"uid"`
	Dir string `json:"dir"`
	identity
	Text string    `json:"text"` // as in a configuration file
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

type settingsFile struct {
	Version  int           `json:"version"`
	Settings []ownSettings `json:"settings"`
}

// OpenSettings reads the store at path; a file that does not exist is an empty store. A broken one is an error.
func OpenSettings(path string) (*SettingsStore, error) {
	s := &SettingsStore{path: path}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	var f settingsFile
	if err == nil {
		if b, err = durable.Unseal(b); err == nil {
			err = json.Unmarshal(b, &f)
		}
	}
	if err == nil && f.Version != 1 {
		err = fmt.Errorf("version %d, this daemon knows 1", f.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("read projects' settings %q: %w; move it away to start with none", path, err)
	}
	s.list = f.Settings
	return s, nil
}

// text returns the settings of uid for the directory as it is on disk now; "": there are none.
func (s *SettingsStore) text(uid int, dir string) string {
	id, err := identityOf(dir)
	if s == nil || err != nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.list {
		if o.UID == uid && o.Dir == dir && o.identity == id {
			return o.Text
		}
	}
	return ""
}

// put replaces them. They are on disk when put returns.
func (s *SettingsStore) put(o ownSettings) error {
	id, err := identityOf(o.Dir)
	if err != nil {
		return fmt.Errorf("set for %q: %w", o.Dir, err)
	}
	o.identity, o.At = id, time.Now().UTC()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(s.list), func(p ownSettings) bool { return p.UID == o.UID && p.Dir == o.Dir })
	if o.Text != "" {
		list = append(list, o)
	}
	b, err := json.MarshalIndent(settingsFile{Version: 1, Settings: list}, "", "  ")
	if err == nil {
		err = renameio.WriteFile(s.path, durable.Seal(append(b, '\n')), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep projects' settings: %w", err)
	}
	s.list = list
	return nil
}

// Where is for whom settings hold.
type Where struct {
	// UID is their user.
	UID int
	// Dir is the project; "": all of the user's.
	Dir string
	// Session is the session alone; nil: all.
	Session *Session
	// By is the person, for the log.
	By string
}

// Change makes edits of settings on a person's word, all or none, and returns where they are kept: the user's file,
// the state beside the project's trust, or the session. The daemon has to read its configuration again after the first.
func (s *Supervisor) Change(w Where, edits []config.Edit) (kept string, err error) {
	_, home, err := account(w.UID)
	if err != nil {
		return "", err
	}
	for _, e := range edits {
		if err := s.mayGrantPaths(w, home, e); err != nil {
			return "", err
		}
	}
	var done []string
	for _, e := range edits {
		done = append(done, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Do, e.Key, strings.Join(e.Values, " "))))
	}
	rec := audit.Record{Category: audit.Config, Operation: "set", Subject: strings.Join(done, "; "), By: w.By,
		Peer: &audit.Peer{UID: w.UID}}
	var keep func() error
	switch {
	case w.Session != nil:
		rec.Session, kept = w.Session.ID, "session "+w.Session.ID
		keep, err = s.changeOwn(kept, w.Session.ownText(), edits, func(text string) error {
			w.Session.own.Store(&text)
			return nil
		})
	case w.Dir != "":
		guard := s.guard(home)
		if w.Dir, err = guard.check(guard.enclosingRepository(w.Dir)); err != nil {
			return "", err
		}
		kept = "project " + w.Dir
		keep, err = s.changeOwn(kept, s.Settings.text(w.UID, w.Dir), edits, func(text string) error {
			return s.Settings.put(ownSettings{UID: w.UID, Dir: w.Dir, Text: text, By: w.By})
		})
	default:
		keep = func() (err error) {
			kept, err = config.SetForUser(s.paths, edits)
			return err
		}
	}
	if err != nil {
		return "", err
	}
	if w.Dir != "" {
		rec.Detail = map[string]string{"project": w.Dir}
	}
	if err := s.Carry(rec, keep); err != nil {
		return "", err
	}
	s.recheckOutlets()
	return kept, nil
}

// changeOwn returns the function that keeps the settings of a project or session with edits.
func (s *Supervisor) changeOwn(
	name, text string, edits []config.Edit, keep func(text string) error,
) (func() error, error) {
	text, err := config.Rewrite(name, text, edits, nil)
	if err == nil {
		err = s.Config().CheckOwn(name, text, edits)
	}
	return func() error { return keep(text) }, err
}

// mayGrantPaths returns an error where an edit opens a path that no verb opens: what holds credentials or this
// product's own files, or a directory above them. Who means it writes it into the configuration.
func (s *Supervisor) mayGrantPaths(w Where, home string, e config.Edit) error {
	if !slices.Contains([]string{"sandbox.read", "sandbox.write", "sandbox.exec"}, e.Key) ||
		e.Do != config.Insert && e.Do != config.Set {
		return nil
	}
	home = realHome(home)
	project := w.Dir
	if w.Session != nil {
		project = w.Session.Root
	}
	for _, value := range e.Values {
		path := value
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%s is not an absolute path", value)
		}
		if project != "" && abspath.Contains(RealPath(project), RealPath(path)) {
			return fmt.Errorf("%s is in the project: commands see it unless it is hidden or holds credentials, and write "+
				"there where it is trusted (sbx trust)", value)
		}
		if err := s.mayGrant(home, filepath.Clean(path)); err != nil {
			return fmt.Errorf("commands get no access to %s: %w", value, err)
		}
	}
	return nil
}

func (s *Supervisor) mayGrant(home, path string) error {
	touches := func(dir string) bool { return abspath.Contains(path, dir) || abspath.Contains(dir, path) }
	for _, path = range []string{path, RealPath(path)} {
		if slices.Contains(notRoots, path) {
			return errors.New("it is too wide; name a directory inside it")
		}
		for _, dir := range noOpening {
			if touches(dir) {
				return fmt.Errorf("%s belongs to the system", dir)
			}
		}
		for _, own := range s.own {
			if touches(own) {
				return fmt.Errorf("%s has this product's own files", own)
			}
		}
		if abspath.Contains(path, home) {
			return errors.New("it is or contains the home directory; name a directory inside it")
		}
		for _, name := range profile.HomeSecrets() {
			if secret := filepath.Join(home, name); touches(secret) {
				return fmt.Errorf("%s holds credentials", secret)
			}
		}
		for _, hidden := range profile.SystemOf(runtime.GOOS).Hidden {
			if touches(hidden) {
				return fmt.Errorf("%s holds credentials", hidden)
			}
		}
	}
	return nil
}

// ownText returns the session's own settings.
func (sess *Session) ownText() string {
	if t := sess.own.Load(); t != nil {
		return *t
	}
	return ""
}

// ownOf returns the configuration with what its user set for the session's project and for the session; texts identify
// the result.
func (s *Supervisor) ownOf(
	base *config.Config, sess *Session, texts [2]string,
) (*config.Config, []config.Warning, error) {
	var warnings []config.Warning
	for i, text := range texts {
		if text == "" {
			continue
		}
		name := []string{"the project's settings of sbx config", "the session's settings of sbx config"}[i]
		cfg, found, err := base.WithOwn(name, text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s in %s: %w; sbx config unset takes it out", name, sess.Root, err)
		}
		base, warnings = cfg, append(warnings, found...)
	}
	return base, warnings, nil
}

// ConfigFor returns the configuration in force for a session, a project's directory, or neither.
func (s *Supervisor) ConfigFor(w Where) (*config.Config, error) {
	sess := w.Session
	if sess == nil && w.Dir == "" {
		return s.Config(), nil
	}
	if sess == nil {
		_, home, err := account(w.UID)
		if err != nil {
			return nil, err
		}
		root := s.guard(home).enclosingRepository(w.Dir)
		sess = &Session{Peer: Peer{UID: w.UID}, Home: home, Root: root}
	}
	c, err := s.compile(sess)
	if err != nil {
		return nil, err
	}
	return c.cfg, nil
}
