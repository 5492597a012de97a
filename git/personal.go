package git

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Personal makes the copy of a person's own configuration that git reads inside a sandbox.
type Personal struct {
	Host Host
	// Home is the person's, inside as outside.
	Home string
	// Remotes are the addresses by which conditions on remotes are decided, since a command can change those that are.
	Remotes []string
	// Foreign reports a file that other people or commands write, in a project for example: nothing of it is copied.
	Foreign func(name string) bool
	// Secret judges the name of a key in upper case.
	Secret func(name string) bool

	files []CopiedFile
}

// CopiedFile is a file of the copy.
type CopiedFile struct {
	Name string // absolute, directly in the home directory
	Data []byte
}

// copies begins the names of the files that the copy has beside .gitconfig.
const copies = ".gitconfig-copy-"

// Copy returns the files of the copy, the first of which is .gitconfig where there is any. It has what is [Portable].
// Included files are copied in the place of what includes them, but those whose conditions git decides by the
// repository that it is in (gitdir, onbranch): they are files of their own, and so is the content of files with
// patterns to ignore. A file that [ParseConfig] refuses is left out.
func (p Personal) Copy() []CopiedFile {
	var list []Setting
	if text, err := p.Host.ReadFile(path.Join(p.Home, ".config/git/ignore"), maxConfig); err == nil && len(text) > 0 {
		list = append(list, Setting{Section: "core", Name: "excludesfile", Value: p.add(text)})
	}
	for _, name := range []string{".config/git/config", ".gitconfig"} {
		list = append(list, p.settings(path.Join(p.Home, name), 0)...)
	}
	if len(list) == 0 {
		return nil
	}
	own := CopiedFile{path.Join(p.Home, ".gitconfig"), FormatConfig(list)}
	return append([]CopiedFile{own}, p.files...)
}

// add makes a file of the copy and returns its name.
func (p *Personal) add(text []byte) string {
	name := path.Join(p.Home, fmt.Sprint(copies, len(p.files)+1))
	p.files = append(p.files, CopiedFile{name, text})
	return name
}

// settings returns what is copied of a configuration file, in the place of which it stands.
func (p *Personal) settings(name string, depth int) (out []Setting) {
	text, err := p.Host.ReadFile(name, maxConfig)
	if err != nil {
		return nil
	}
	list, err := ParseConfig(text)
	if err != nil {
		return nil
	}
	for _, s := range list {
		key := s.Section + "." + s.Name
		switch {
		case key == "include.path" || key == "includeif.path":
			out = append(out, p.included(s, name, depth+1)...)
		case key == "core.excludesfile":
			if file, err := includePath(s.Value, name, p.Home); err == nil && s.Value != "" && p.own(file) {
				if text, err := p.Host.ReadFile(file, maxConfig); err == nil {
					out = append(out, Setting{Section: "core", Name: "excludesfile", Value: p.add(text)})
				}
			}
		case Portable(s, p.Secret):
			out = append(out, s)
		}
	}
	return out
}

var falseValue = regexp.MustCompile(`(?i)^(false|no|off|0|)$`)

// maxCopied bounds the files of a copy.
const maxCopied = 64

// included returns what stands for an include.
func (p *Personal) included(s Setting, from string, depth int) []Setting {
	file, err := includePath(s.Value, from, p.Home)
	if err != nil || s.Value == "" || !p.own(file) || depth > maxIncludes || len(p.files) >= maxCopied {
		return nil
	}
	kind, pattern, _ := strings.Cut(s.Sub, ":")
	switch {
	case s.Section == "include", kind == "hasconfig" && p.hasRemote(pattern):
		return p.settings(file, depth)
	case kind != "gitdir" && kind != "gitdir/i" && kind != "onbranch":
		return nil
	}
	if below, ok := strings.CutPrefix(pattern, "./"); ok && kind != "onbranch" {
		s.Sub = kind + ":" + path.Dir(from) + "/" + below
	}
	list := p.settings(file, depth)
	if len(list) == 0 {
		return nil
	}
	s.Value = p.add(FormatConfig(list))
	return []Setting{s}
}

// own reports whether nobody but the person writes a file: neither its name nor what that leads to is foreign.
func (p *Personal) own(name string) bool {
	real, missing, err := Resolve(p.Host, name)
	return err == nil && !missing && !p.Foreign(name) && !p.Foreign(real)
}

// hasRemote decides a condition "remote.*.url:PATTERN" (git-config(1), Conditional includes).
func (p *Personal) hasRemote(condition string) bool {
	pattern, ok := strings.CutPrefix(condition, "remote.*.url:")
	if !ok {
		return false
	}
	text, ok, err := globRegexp(pattern, false)
	if !ok || err != nil {
		return false
	}
	match, err := regexp.Compile(`(?s)\A` + text + `\z`)
	for _, url := range p.Remotes {
		if err == nil && match.MatchString(runes(url)) {
			return true
		}
	}
	return false
}

// inForce returns the settings in force in a directory, none where they can't be read.
func inForce(h Host, home, dir string) []Setting {
	found, err := Find(h, dir)
	if err != nil || len(found) == 0 {
		return nil
	}
	settings, err := Reader{Host: h, Home: home}.Config(found[0])
	if err != nil {
		return nil
	}
	return settings
}

// Signs reports whether git in a directory signs commits or tags unasked, or did under a condition.
func Signs(h Host, home, dir string) bool {
	return slices.ContainsFunc(inForce(h, home, dir), func(s Setting) bool {
		return (s.Section == "commit" || s.Section == "tag") && s.Name == "gpgsign" &&
			(s.Bare || !falseValue.MatchString(s.Value))
	})
}

// Remotes returns the addresses of the remotes of the repository in a directory, none where git would find none.
func Remotes(h Host, home, dir string) (urls []string) {
	for _, s := range inForce(h, home, dir) {
		if s.Section == "remote" && s.Sub != "" && s.Name == "url" {
			urls = append(urls, s.Value)
		}
	}
	return urls
}
