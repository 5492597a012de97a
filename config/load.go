package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"sandboxd/profile/document"
	"sandboxd/shell"
)

// Load reads the operator's and the user's layers and the operator's profiles. Its error joins
// every *Error; with an error there is no configuration. Warnings report valid statements that
// are ignored.
func Load(paths Paths) (*Config, []Warning, error) {
	l := newLayers()
	var errs []error
	if doc, err := readLayer(paths.Operator); err != nil {
		errs = append(errs, err)
	} else if doc != nil {
		l.addOperator(doc)
	}
	if doc, err := readLayer(paths.User); err != nil {
		errs = append(errs, err)
	} else if doc != nil {
		l.addUser(doc)
	}
	profiles, err := readProfiles(paths.ProfileDir)
	if err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	cfg, err := l.config()
	if err != nil {
		return nil, nil, err
	}
	cfg.Profiles = profiles
	return cfg, slices.Concat(l.warnings, cfg.unknownSandboxes(cfg), cfg.bareDenials(), cfg.bareStarters()), nil
}

// readLayer reads one trusted file, strictly. It returns nil if the file does not exist.
func readLayer(path string) (*parsed, error) {
	if path == "" {
		return nil, nil
	}
	text, found, err := readTrusted(path)
	if err != nil {
		return nil, &Error{Origin: Origin{File: path}, Err: err}
	}
	if !found {
		return nil, nil
	}
	doc, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, list := range [][]problem{doc.denied, doc.unknown, doc.invalid} {
		for _, p := range list {
			errs = append(errs, p.error())
		}
	}
	return doc, errors.Join(errs...)
}

func readProfiles(dir string) ([]Profile, error) {
	if dir == "" {
		return nil, nil
	}
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := dangles(dir); err != nil {
			return nil, &Error{Origin: Origin{File: dir}, Err: err}
		}
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Origin: Origin{File: dir}, Err: fmt.Errorf("read: %w", pathless(err))}
	}
	var out []Profile
	var errs []error
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, ".toml") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, found, err := readTrusted(path)
		if err == nil && !found {
			err = errors.New("cannot be opened; remove it, or fix the link")
		}
		if err != nil {
			errs = append(errs, &Error{Origin: Origin{File: path}, Err: err})
			continue
		}
		doc, err := document.Parse(path, []byte(text))
		if err != nil {
			errs = append(errs, profileError(path, err))
			continue
		}
		out = append(out, Profile{File: path, Text: text, Document: doc})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].File < out[j].File })
	return out, errors.Join(errs...)
}

func profileError(path string, err error) error {
	var de *document.Error
	if errors.As(err, &de) {
		return &Error{Origin: Origin{File: path, Line: de.Line, Column: de.Col}, Err: de.Err}
	}
	return &Error{Origin: Origin{File: path}, Err: err}
}

// builtin returns the defaults as settings without a file.
var builtin = sync.OnceValue(readDefaults)

func readDefaults() []setting {
	var buf bytes.Buffer
	if err := toml.NewEncoder(&buf).Encode(defaults()); err != nil {
		panic("config: the defaults cannot be written: " + err.Error())
	}
	doc, err := parse("", buf.String())
	if err == nil {
		for _, p := range append(doc.unknown, append(doc.invalid, doc.denied...)...) {
			err = p.error()
		}
	}
	if err != nil {
		panic("config: the defaults cannot be read: " + err.Error())
	}
	written := map[string]bool{}
	for _, s := range doc.settings {
		written[s.name] = true
	}
	for _, k := range keys {
		if v, ok := emptyValue(k); ok && !written[k.name] {
			doc.settings = append(doc.settings, setting{path: strings.Split(k.name, "."), name: k.name, key: k, value: v})
		}
	}
	for i := range doc.settings {
		s := &doc.settings[i]
		s.origin = Origin{}
		s.items = make([]Origin, len(s.items))
	}
	return doc.settings
}

// emptyValue returns the value of an unset list or table. It returns false for keys of other
// types.
func emptyValue(k key) (any, bool) {
	n := shape
	for _, part := range strings.Split(k.name, ".") {
		if part == "*" {
			return nil, false
		}
		n = n.children[part]
	}
	switch n.typ.Kind() {
	case reflect.Slice:
		return []any{}, true
	case reflect.Map:
		return map[string]any{}, true
	}
	return nil, false
}

// config decodes the merged layers and lets every section validate its values.
func (l *layers) config() (*Config, error) {
	for _, name := range sortedKeys(l.entries) {
		e := l.entries[name]
		if !isSandbox(e.path) {
			continue
		}
		if _, ok := l.entries[sandboxKey(e.path[2], "root")]; !ok {
			return nil, &Error{
				Origin: e.origin,
				Err:    fmt.Errorf("files.paths.%s has no root; name a folder, \".\" is the project", e.path[2]),
			}
		}
	}
	var cfg Config
	if err := decode(l.tree(), &cfg); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	cfg.Shell.Permissions = cfg.Permissions
	cfg.Shell.Presets = cfg.Presets.Use
	// [network] is the limit of every command, and the default of [shell].
	if l.builtin("shell.network") || !l.entries["shell.network"].key.narrower(cfg.Shell.Network, cfg.Network.Mode) {
		cfg.Shell.Network = cfg.Network.Mode
	}
	cfg.layers = *l
	cfg.layers.warnings = nil
	cfg.mark()
	if err := cfg.derives(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return &cfg, nil
}

// unknownSandboxes warns about rules of c, or of a project's file, that name a sandbox which c
// does not have. Such a rule never matches, even if it forbids.
func (c *Config) unknownSandboxes(of *Config) []Warning {
	var out []Warning
	for i, r := range of.Shell.Rules {
		for _, name := range r.Paths {
			if _, ok := c.Files.Paths[name]; !ok {
				out = append(out, Warning{
					Origin: of.Origin(element("shell.rules", i)),
					Text: fmt.Sprintf("shell.rules: the rule %q never matches: there is no [files.paths.%s], but %s",
						r.Pattern, name, strings.Join(sortedKeys(c.Files.Paths), ", ")),
				})
			}
		}
	}
	return out
}

// bareDenials warns about denials that cover less than they seem to: "Bash(git push)" denies
// only that command without further words.
func (c *Config) bareDenials() []Warning {
	var out []Warning
	for i, p := range c.Permissions.Deny {
		words := strings.Fields(p.Command)
		if p.Prefix || p.Any || len(words) != 2 || strings.ContainsAny(p.Command, "-*?[;&|<>()$`'\"\\") {
			continue
		}
		out = append(out, Warning{Origin: c.Origin(element("permissions.deny", i)),
			Text: fmt.Sprintf(
				"permissions.deny: %q denies just these words; to deny it with further ones, too, write \"%s(%s *)\"",
				p.String(),
				p.Tool,
				p.Command,
			)})
	}
	return out
}

// bareStarters warns about permissions by prefix that cover less than they seem to: the command
// that "npx -y foo" starts is judged by itself.
func (c *Config) bareStarters() []Warning {
	var out []Warning
	for i, p := range c.Permissions.Allow {
		if !p.Prefix || len(p.When) > 0 {
			continue
		}
		inner, instead := shell.StartedBy(p.Command)
		covered := slices.ContainsFunc(c.Permissions.Allow, func(o shell.Permission) bool {
			return o.Any && o.Tool == p.Tool || o.Prefix && strings.HasPrefix(inner+" ", o.Command+" ")
		})
		if inner == "" || covered {
			continue
		}
		text := "permissions.allow: %q alone lets nothing run: what it starts is judged by itself, as \"%s(%s *)\""
		if instead {
			text = "permissions.allow: %q never applies: what it starts is judged in its place, as \"%s(%s *)\""
		}
		out = append(
			out,
			Warning{Origin: c.Origin(element("permissions.allow", i)), Text: fmt.Sprintf(text, p.String(), p.Tool, inner)},
		)
	}
	return out
}

// mark sets the origin of each rule.
func (c *Config) mark() {
	operator := func(o Origin) bool {
		s, ok := c.layers.operatorFile()
		return ok && o.File == s
	}
	for i := range c.Shell.Rules {
		o := c.Origin(element("shell.rules", i))
		c.Shell.Rules[i].Origin, c.Shell.Rules[i].Operator = o.String(), operator(o)
	}
	for i := range c.Tools.Rules {
		c.Tools.Rules[i].Origin = c.Origin(element("tools.rules", i))
	}
	for name, list := range map[string][]shell.Permission{
		"permissions.allow": c.Permissions.Allow,
		"permissions.ask":   c.Permissions.Ask,
		"permissions.deny":  c.Permissions.Deny,
	} {
		for i := range list {
			o := c.Origin(element(name, i))
			list[i].Origin, list[i].Operator = o.String(), operator(o)
		}
	}
}

// builtin reports whether no file sets a key.
func (l *layers) builtin(name string) bool {
	e, ok := l.entries[name]
	return !ok || e.origin == Origin{}
}

func (l *layers) operatorFile() (string, bool) {
	for _, s := range l.operator {
		return s.origin.File, true
	}
	return "", false
}

// Origin returns the position of a key, such as "sandbox.limits.wall", or of an element of a
// list, such as "shell.rules[2]". It returns the zero Origin if no file sets it.
func (c *Config) Origin(name string) Origin {
	if e, ok := c.layers.entries[name]; ok {
		return e.origin
	}
	if open := strings.LastIndexByte(name, '['); open > 0 && strings.HasSuffix(name, "]") {
		e, ok := c.layers.entries[name[:open]]
		if i, err := strconv.Atoi(name[open+1 : len(name)-1]); err == nil && ok && i >= 0 && i < len(e.items) {
			return e.items[i]
		}
	}
	return Origin{}
}
