package document

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"sandboxd/internal/spelling"
)

//go:embed presets/*.toml presets/agents/*.toml
var presetFiles embed.FS

// Preset is a document by name: the caches and toolchains of one kind of work. It only grants, and
// only below paths that no other part of it hides.
type Preset struct {
	Name string
	Document
}

var (
	loadPresets = sync.OnceValues(func() (map[string]Preset, error) { return load("presets/") })
	loadAgents  = sync.OnceValues(func() (map[string]Preset, error) { return load("presets/agents/") })
)

func load(dir string) (map[string]Preset, error) {
	presets := map[string]Preset{}
	files, err := fs.Glob(presetFiles, dir+"*.toml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := presetFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, dir), ".toml")
		d, err := Parse("preset "+name, text)
		if err != nil {
			return nil, err
		}
		presets[name] = Preset{name, *d}
	}
	return presets, nil
}

// Agent returns the preset of the agent with that program: its installation, state and hosts. Only its own run as a
// whole has them. Without one ok is false.
func Agent(program string) (p Preset, ok bool) {
	presets, err := loadAgents()
	if err != nil {
		panic(err) // built in: a test parses them
	}
	p, ok = presets[program]
	return p, ok
}

// Presets returns the built-in presets by name.
func Presets() []Preset {
	presets, err := loadPresets()
	if err != nil {
		panic(err) // built in: a test parses them
	}
	var out []Preset
	for _, p := range presets {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// FindPreset returns the preset of that name.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if best := spelling.Nearest(name, names); best != "" {
		return Preset{}, fmt.Errorf("profile preset %q: unknown, did you mean %q?", name, best)
	}
	return Preset{}, fmt.Errorf("profile preset %q: unknown, there are %q", name, names)
}
