package profiletest

import (
	"time"

	"pgregory.net/rapid"

	"sandboxd/profile"
)

// Hosts and Ports are those of generated networks.
var (
	hosts = []string{"example.com", "api.example.com", "*.example.com", "a.api.example.com", "*.api.example.com",
		"10.0.0.1", "::1"}
	Ports = []uint16{0, 22, 443}
)

// Network draws any valid network.
func Network() *rapid.Generator[profile.Network] {
	return rapid.Custom(func(t *rapid.T) profile.Network {
		n := profile.Network{
			Mode: rapid.SampledFrom([]profile.NetMode{profile.NetNone, profile.NetLoopback, profile.NetAllowlist,
				profile.NetFull}).Draw(t, "mode"),
			Listen:    rapid.SliceOfN(rapid.SampledFrom([]uint16{0, 80, 8080}), 0, 3).Draw(t, "listen"),
			ListenAny: rapid.IntRange(0, 3).Draw(t, "listen any") == 0,
		}
		if n.Mode == profile.NetAllowlist {
			n.Hosts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) profile.HostPort {
				return profile.HostPort{Host: rapid.SampledFrom(hosts).Draw(t, "host"),
					Port: rapid.SampledFrom(Ports).Draw(t, "port")}
			}), 0, 4).Draw(t, "hosts")
		}
		return n
	})
}

// Variables are the names that generated environments speak of.
var Variables = []string{"A", "AB", "ABC", "A_TOKEN", "B", "AB_KEY"}

// Environment draws any valid environment.
func Environment() *rapid.Generator[profile.Environment] {
	patterns := append([]string{"*", "A*", "AB*", "A_*"}, Variables...)
	return rapid.Custom(func(t *rapid.T) profile.Environment {
		return profile.Environment{
			Pass:        rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 4).Draw(t, "pass"),
			Block:       rapid.SliceOfN(rapid.SampledFrom(patterns[1:]), 0, 2).Draw(t, "block"),
			Set:         rapid.MapOfN(rapid.SampledFrom(Variables), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(t, "set"),
			PassSecrets: rapid.Bool().Draw(t, "secrets"),
		}
	})
}

// Limits draws any valid limits.
func Limits() *rapid.Generator[profile.Limits] {
	return rapid.Custom(func(t *rapid.T) profile.Limits {
		n := func(label string) int { return rapid.IntRange(0, 3).Draw(t, label) }
		return profile.Limits{
			Wall: time.Duration(n("wall")) * time.Minute, CPU: time.Duration(n("cpu")) * time.Second,
			Memory: int64(n("memory")) << 30, FileSize: int64(n("file size")) << 20, TmpSize: int64(n("tmp size")) * 1000,
			LayerSize: int64(n("layer size")) * 1000, Output: int64(n("output")), Processes: n("processes"),
			OpenFiles: n("open files"),
		}
	})
}

// Grant draws any valid grant.
func (u Universe) Grant() *rapid.Generator[profile.Grant] {
	return rapid.Custom(func(t *rapid.T) profile.Grant {
		switch rapid.IntRange(0, 5).Draw(t, "grant") {
		case 0:
			return profile.Grant{Host: profile.HostPort{Host: rapid.SampledFrom(hosts).Draw(t, "host"),
				Port: rapid.SampledFrom(Ports).Draw(t, "port")}}
		case 1:
			return profile.Grant{Socket: u.Path(1).Draw(t, "socket")}
		}
		return profile.Grant{Path: u.Path(0).Draw(t, "path"), Access: Access().Draw(t, "access")}
	})
}
