package supervisor

import (
	"fmt"
	"net/netip"
	"strings"

	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/sandbox"
)

// networkRemedy is a network mode that permits a refused socket or address, and the condition or further setting
// that belongs to it.
type networkRemedy struct {
	mode profile.NetMode
	rest string
}

// networkRemedies returns the modes that permit n, the narrowest first. A socket is refused before it has an
// address, so both the command's own localhost and other hosts are possible targets.
func networkRemedies(n sandbox.Refusal) []networkRemedy {
	local := networkRemedy{profile.NetLoopback, " for 127.0.0.1 and ::1"}
	addr, err := netip.ParseAddrPort(n.Object)
	switch {
	case strings.HasSuffix(n.Object, " ping"):
		return []networkRemedy{{profile.NetFull, ""}}
	case err == nil && (addr.Addr().IsLoopback() || addr.Addr().IsUnspecified()):
		return []networkRemedy{local}
	case err == nil:
		return []networkRemedy{{profile.NetAllowlist, allowing(n.Object)}}
	case strings.HasSuffix(n.Object, " UDP"): // which the proxy does not carry
		return []networkRemedy{local, {profile.NetFull, " for other hosts"}}
	}
	return []networkRemedy{local, {profile.NetAllowlist, "HOST:PORT for other hosts"}}
}

// allowing returns what sbx allow permits for an address. A name server's own does not help, as the proxy resolves
// names.
func allowing(object string) string {
	if addr, err := netip.ParseAddrPort(object); err == nil && addr.Port() == 53 {
		return "HOST:PORT for the host whose name it looked up"
	}
	return object
}

// networkHint says how to permit a socket or an address that was refused.
func (s *Supervisor) networkHint(n sandbox.Refusal, j *judgement, sess *Session) string {
	if j.plan.Profile.Network().Mode == profile.NetAllowlist && !strings.HasSuffix(n.Object, " ping") {
		return "it did not use the proxy that the environment names, which is the only way out (docs/network.md has " +
			"how: Node from 22.21 and 24.5); to permit the host there: sbx allow " + allowing(n.Object)
	}
	cfg := s.Config()
	if c, err := s.compile(sess); err == nil {
		cfg = c.cfg
	}
	hint, previous := "", ""
	for _, r := range networkRemedies(n) {
		if j.operator != nil && r.mode > j.operator.Network().Mode {
			continue
		}
		key := networkKey(r.mode, cfg, j.verdict.Network)
		text := fmt.Sprintf("%s = %q%s", key, r.mode.String(), r.rest)
		switch verb := r.mode == profile.NetAllowlist; {
		case verb && key == "[network] mode": // which the verb sets, too
			text, key = "sbx allow "+r.rest, ""
		case verb:
			text = fmt.Sprintf("%s = %q with sbx allow %s", key, r.mode.String(), r.rest)
		}
		if key != "" && key == previous {
			text = text[strings.LastIndexByte(key, ' ')+1:]
		}
		if hint != "" {
			hint += ", or "
		}
		hint, previous = hint+text, key
	}
	if hint == "" {
		return j.forbids()
	}
	return "to permit it: " + hint
}

// networkKey names the setting that keeps a command below mode: the bound of every command, the rule that decided
// the command (whose mode is decided), or the default of commands without a rule.
func networkKey(mode profile.NetMode, cfg *config.Config, decided string) string {
	bound, err := profile.ParseNetMode(cfg.Network.Mode)
	unset := cfg.Origin("network.mode") == (config.Origin{})
	switch {
	case err != nil, mode > bound:
		return "[network] mode"
	case decided == cfg.Network.Mode && unset: // the default mode of a project decided
		return "[network] mode"
	case decided != cfg.Shell.Network:
		return "[[shell.rules]] network"
	}
	return "[shell] network"
}
