package document

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"sandboxd/profile"
)

// printed is a Document in which a section that says nothing is nil, so that
// it is left out; a list that is empty on purpose stays.
type printed struct {
	Base        string       `toml:"base,omitempty"`
	Description string       `toml:"description,omitempty"`
	Paths       *Paths       `toml:"paths"`
	Network     *Network     `toml:"network"`
	Environment *Environment `toml:"environment"`
	Limits      *Limits      `toml:"limits"`
	System      *System      `toml:"system"`
}

// Print writes the document as TOML that [Parse] reads back as the same.
func (d *Document) Print() ([]byte, error) {
	out := printed{
		Base: d.Base, Description: d.Description, Paths: unlessZero(&d.Paths), Network: unlessZero(&d.Network),
		Environment: unlessZero(&d.Environment), Limits: unlessZero(&d.Limits), System: unlessZero(&d.System),
	}
	var b bytes.Buffer
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("profile document %q: %w", d.file, err)
	}
	return b.Bytes(), nil
}

func unlessZero[T any](section *T) *T {
	if reflect.ValueOf(*section).IsZero() {
		return nil
	}
	return section
}

// Of returns a document that describes p with base "nothing": its Profile is p again, with any
// variables. It fails for a path that no document can hold: one with "**" or "${" in it, or that is
// not UTF-8.
func Of(p profile.Profile) (*Document, error) {
	d := &Document{Base: "nothing"}
	for _, r := range p.Rules() {
		if err := writable(r); err != nil {
			return nil, err
		}
		d.Paths.add(r)
	}
	for _, r := range p.Guards() {
		if err := writable(r); err != nil {
			return nil, err
		}
		d.Paths.addGuard(r)
	}
	d.Paths.Sockets = p.UnixSockets()
	n := p.Network()
	d.Network = Network{Mode: n.Mode.String(), Listen: n.Listen, ListenAny: n.ListenAny}
	for _, h := range n.Hosts {
		d.Network.Hosts = append(d.Network.Hosts, h.String())
	}
	e := p.Environment()
	d.Environment = Environment{Pass: e.Pass, Block: e.Block, Set: e.Set, Secrets: e.PassSecrets}
	d.Limits = limitsOf(p.Limits())
	for _, g := range p.Syscalls() {
		d.System.Syscalls = append(d.System.Syscalls, string(g))
	}
	d.System.Processes = p.Processes().String()
	return d, nil
}

func writable(r profile.Rule) error {
	if strings.Contains(r.Path, "**") || strings.Contains(r.Path, "${") || !utf8.ValidString(r.Path+r.Name) {
		return fmt.Errorf("profile rule %q: no document can hold this path", r)
	}
	return nil
}

func (p *Paths) add(r profile.Rule) {
	switch r.Kind {
	case profile.Hide:
		p.Hide = append(p.Hide, r.Target())
		return
	case profile.Protect:
		p.Protect = append(p.Protect, r.Target())
	case profile.Private:
		p.Private = append(p.Private, r.Path)
		if r.Access == profile.Read|profile.Write|profile.Exec {
			return
		}
	}
	if r.Access&profile.Write != 0 {
		p.Write = append(p.Write, r.Path)
	}
	if r.Access&profile.Exec != 0 {
		p.Exec = append(p.Exec, r.Path)
	}
	if r.Access == profile.Read {
		p.Read = append(p.Read, r.Path)
	}
}

func (p *Paths) addGuard(r profile.Rule) {
	switch target := r.Target(); {
	case r.Kind == profile.Hide && !slices.Contains(p.Hide, target):
		p.GuardHide = append(p.GuardHide, target)
	case r.Kind == profile.Protect && !slices.Contains(p.Protect, target):
		p.GuardProtect = append(p.GuardProtect, target)
	}
}
