package config

import (
	"slices"

	"sandboxd/profile/document"
	"sandboxd/shell/presets"
)

// Toolchains returns the presets with caches that fit a project, of whose directory exists reports names. A trusted
// project has these caches without the preset, so that the second build does not begin like the first.
func Toolchains(exists func(name string) bool) []string {
	return slices.DeleteFunc(presets.Fitting(exists), func(name string) bool {
		p, err := document.FindPreset(name)
		return err != nil || len(p.Environment.Set) == 0
	})
}

// PresetState is one preset and whether it is enabled.
type PresetState struct {
	presets.Preset
	On     bool
	Origin Origin // position of its name; zero if it is not enabled
}

// ListPresets returns all presets with their state in the configuration of paths.
func ListPresets(paths Paths) ([]PresetState, error) {
	cfg, _, err := Load(paths)
	if err != nil {
		return nil, err
	}
	var out []PresetState
	for _, p := range presets.All() {
		s := PresetState{Preset: p}
		if i := slices.Index(cfg.Presets.Use, p.Name); i >= 0 {
			s.On, s.Origin = true, cfg.Origin(element(UsedPresets, i))
		}
		out = append(out, s)
	}
	return out, nil
}
