package config

import (
	"reflect"
	"slices"
)

// WaitsForRestart lists the settings in which next differs from c, the configuration that a daemon started with,
// and that it reads at its start alone, such as "gateway.listen".
func (c *Config) WaitsForRestart(next *Config) []string {
	var out []string
	for _, k := range keys {
		if k.restart && !reflect.DeepEqual(c.valueOf(k.name), next.valueOf(k.name)) {
			out = append(out, k.name)
		}
	}
	return slices.Clip(out)
}

// valueOf returns the merged value of a key without free names, as decoded from TOML.
func (c *Config) valueOf(name string) any {
	for _, e := range c.layers.entries {
		if e.key.name == name {
			return e.value
		}
	}
	return nil
}
