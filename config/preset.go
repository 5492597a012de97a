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

// PresetHosts opens the hosts that presets name, such as the registry of packages, in the user's file: it adds them to
// network.presets, and sets network.mode to allowlist where commands have less. Where open is false it takes them out
// again, and leaves the mode. It returns the presets of which that changed something.
func PresetHosts(paths Paths, names []string, open bool) (changed []string, err error) {
	cfg, _, err := Load(paths)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if slices.Contains(presetsWithHosts(), name) && slices.Contains(cfg.Network.Presets, name) != open {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	edits := []Edit{{Key: "network.presets", Do: Delete, Values: changed}}
	if open {
		edits[0].Do = Insert
	}
	if open && cfg.Network.Mode != "allowlist" && cfg.Network.Mode != "full" {
		edits = append(edits, Edit{Key: "network.mode", Do: Set, Values: []string{"allowlist"}})
	}
	_, err = SetForUser(paths, edits)
	return changed, err
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
