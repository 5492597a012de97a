package shell

import (
	"path"
	"strings"
	"sync"

	"sandboxd/pattern"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
)

// defaultHidden lists the paths that hold secrets: those of the profile, and those of the
// system. Reading them asks for every command, and the sandbox hides them.
var defaultHidden = func() []string {
	list := []string{
		"/proc/*/environ", "/proc/*/root", "/proc/*/cwd", "/proc/*/fd", "/proc/*/mem", "/proc/*/maps", "/proc/*/task",
		"/proc/kcore", "/proc/keys",
		"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh/ssh_host_*_key", "/etc/ssl/private",
		"/etc/sandboxd",
		"/root/.ssh", "/root/.aws", "/root/.gnupg", "/root/.netrc",
		"~/.bash_history", "~/.zsh_history", "~/.config/sandboxd", "~/.local/state/sandboxd",
		".ssh/id_*", ".ssh/*_key", ".netrc", ".git-credentials", ".pgpass", ".aws/credentials", ".gnupg",
		".docker/config.json", ".kube/config", ".config/gh/hosts.yml",
	}
	for _, name := range profile.HomeSecrets() {
		list = append(list, "~/"+name)
	}
	return list
}()

// defaultSensitive lists names that usually hold credentials of a project. Programs can read
// them, but a command that names one asks.
var defaultSensitive = []string{
	".env",
	".env.*",
	".envrc",
	"*.pem",
	"*.kdbx",
	"id_rsa",
	"id_ed25519",
	"id_ecdsa",
	".htpasswd",
	"credentials.json",
	"service-account*.json",
}

// harmlessSensitive lists names that match defaultSensitive but hold no secrets.
var harmlessSensitive = []string{
	".env.example",
	".env.sample",
	".env.template",
	".env.dist",
	".env.defaults",
	".env.test.example",
}

// defaultProtected lists the files that other programs execute or trust, at once or in a build.
// Writing them asks twice, even if it was granted (R-FS-03).
var defaultProtected = profile.ProtectedNames(profile.Executed, profile.Built)

// defaultHeld lists those of defaultProtected that are no build files. Build files are ordinary work where a run can
// be undone (DESIGN §14).
var defaultHeld = append(profile.ProtectedNames(profile.Executed), ".git", ".gitattributes")

// DefaultReadRoots lists the system trees that read-only commands may read unasked: programs,
// libraries and the description of the machine.
var DefaultReadRoots = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store",
	"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release", "/etc/redhat-release",
	"/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime", "/dev/null",
}

// DefaultSearchPath lists the directories in which command names are looked up.
var DefaultSearchPath = []string{
	"/usr/local/sbin",
	"/usr/local/bin",
	"/usr/sbin",
	"/usr/bin",
	"/sbin",
	"/bin",
	"/usr/local/go/bin",
}

// places classifies paths.
type places struct {
	hidden, sensitive, harmless, protected, held *pattern.Set
	readRoots                                    []string
	examples                                     []string // one name for each pattern of secrets
}

func newPlaces(c Config) (places, error) {
	p := places{readRoots: c.ReadRoots}
	if p.readRoots == nil {
		p.readRoots = DefaultReadRoots
	}
	if len(c.Hidden) == 0 && len(c.Protected) == 0 {
		d, err := defaultPlaces()
		d.readRoots = p.readRoots
		return d, err
	}
	return parsePlaces(p, c)
}

// defaultPlaces parses the default patterns once; most tools have no others.
var defaultPlaces = sync.OnceValues(func() (places, error) { return parsePlaces(places{}, Config{}) })

func parsePlaces(p places, c Config) (places, error) {
	for _, step := range []struct {
		to    **pattern.Set
		lists [][]string
	}{
		{&p.hidden, [][]string{defaultHidden, c.Hidden}},
		{&p.sensitive, [][]string{defaultSensitive}},
		{&p.harmless, [][]string{harmlessSensitive}},
		{&p.protected, [][]string{defaultProtected, c.Protected}},
		{&p.held, [][]string{defaultHeld, c.Protected}},
	} {
		set, err := pattern.NewSet(step.lists...)
		if err != nil {
			return places{}, err
		}
		*step.to = set
	}
	p.examples = examples(c.Hidden)
	return p, nil
}

// place is the classification of one path.
type place struct {
	path      string // absolute and clean
	inside    bool   // in the project
	readable  bool   // in the project or a read root
	hidden    string // the pattern that hides it
	sensitive string // the pattern of credentials that it matches
	glob      bool
	dir       bool // a directory, if that was queried
}

// at classifies an absolute path. glob is true if it may contain unquoted globs.
func (p *places) at(abs string, glob bool, c *Command) place {
	abs = path.Clean(abs)
	out := place{path: abs, inside: abspath.Contains(c.project(), abs), glob: glob}
	out.readable = out.inside
	for _, root := range p.readRoots {
		if out.readable {
			break
		}
		if below, ok := strings.CutPrefix(root, "~/"); ok && c.Home != "" {
			root = path.Join(c.Home, below)
		}
		out.readable = abspath.Contains(root, abs)
	}
	if glob {
		// globFact checks the matches of a glob separately, credentials included.
		out.hidden = p.hidden.MayCover(analysis.PathPattern(abs), c.Home)
		return out
	}
	out.hidden, out.sensitive = p.hidden.Covers(abs, c.Home), p.sensitive.Covers(abs, c.Home)
	if out.sensitive != "" && (p.harmless.Covers(abs, c.Home) != "" || out.readable && !out.inside) {
		out.sensitive = "" // a harmless name, or a certificate of the system
	}
	return out
}

// Secret reports whether the absolute path is hidden from commands, or its name is one of credentials.
func (t *Tool) Secret(abs string, c Command) bool {
	at := t.places.at(abs, false, &c)
	return at.hidden != "" || at.sensitive != ""
}

// protects returns the pattern that protects a place from writing, or "". held reports that it is no build file's.
func (p *places) protects(at place, c *Command) (protected string, held bool) {
	covers := func(s *pattern.Set) string {
		if at.glob {
			return s.MayCover(analysis.PathPattern(at.path), c.Home)
		}
		return s.Covers(at.path, c.Home)
	}
	return covers(p.protected), covers(p.held) != ""
}

// ordinary reports whether a place is a file of the project that is neither protected nor secret.
func (p *places) ordinary(at place, c *Command) bool {
	protected, _ := p.protects(at, c)
	return at.inside && at.path != c.project() && protected == "" && at.hidden == "" && at.sensitive == ""
}

func (c *Command) project() string {
	if c.Project != "" {
		return c.Project
	}
	return c.Cwd
}

// show formats a path for people: relative in the project, with ~ in the home directory.
func (c *Command) show(abs string) string {
	abs = path.Clean(abs)
	switch project := c.project(); {
	case abs == project:
		return "the project"
	case abspath.Contains(project, abs):
		return strings.TrimPrefix(abs, strings.TrimSuffix(project, "/")+"/")
	case c.Home != "" && abs == c.Home:
		return "~"
	case c.Home != "" && abspath.Contains(c.Home, abs):
		return "~" + strings.TrimPrefix(abs, c.Home)
	}
	return abs
}
