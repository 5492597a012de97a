package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sandboxd/egress"
	"sandboxd/internal/spelling"
	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
	"sandboxd/shell"
	"sandboxd/shell/presets"
)

// validate calls the validation of every section. Each error names the key.
func (c *Config) validate() error {
	var errs []error
	for _, check := range []func() error{
		c.Daemon.validate, c.Approval.Validate, c.Tools.validate, c.Files.Validate, c.Landing.validate,
		c.Shell.Validate, c.permissions, c.shellNetwork, c.Sandbox.validate, c.Environment.validate, c.Network.validate,
		c.Audit.validate, c.Presets.validate, c.Gateway.validate, c.Notify.Validate,
	} {
		if err := check(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// permissions validates [permissions] with the validation of the tools that use them. Otherwise
// an invalid entry would be an error of every call.
func (c *Config) permissions() error {
	if err := (shell.Config{Permissions: c.Permissions}).Validate(); err != nil {
		return err
	}
	for _, p := range slices.Concat(c.Permissions.Allow, c.Permissions.Ask, c.Permissions.Deny) {
		if err := whenNames(p.When); err != nil {
			return fmt.Errorf("permission %q: %w", p.String(), err)
		}
	}
	return nil
}

// whenNames returns an error if a condition has no parameter name.
func whenNames(when map[string]string) error {
	if _, ok := when[""]; ok {
		return errors.New("when names a parameter without a name")
	}
	return nil
}

func (c *Config) shellNetwork() error {
	for _, r := range c.Shell.Rules {
		if r.Network != "" && wordIndex(networkModes, r.Network) < 0 {
			return fmt.Errorf("rule %q: network %q is none of %s", r.Pattern, r.Network, wordList(networkModes))
		}
	}
	return nil
}

func (d Daemon) validate() error {
	for _, dir := range []string{d.SocketDir, d.StateDir} {
		if dir != "" && !filepath.IsAbs(dir) {
			return fmt.Errorf("%q is not an absolute path", dir)
		}
	}
	for _, root := range d.Roots {
		if !filepath.IsAbs(root) && !strings.HasPrefix(root, "~/") || filepath.Clean(root) == "/" {
			return fmt.Errorf("%q is no folder's absolute path", root)
		}
	}
	for _, n := range []int{d.Requests, d.Sessions, d.Pending} {
		if n < 0 {
			return fmt.Errorf("%d is negative", n)
		}
	}
	return nil
}

func (t Tools) validate() error {
	for _, r := range t.Rules {
		switch {
		case r.Tool == "":
			return errors.New("a rule for tools needs tool = \"NAME\"")
		case strings.Contains(strings.TrimSuffix(r.Tool, "*"), "*"):
			return fmt.Errorf("tool %q: only one \"*\", at the end, has a meaning", r.Tool)
		case r.Decision != "allow" && r.Decision != "ask" && r.Decision != "deny":
			return fmt.Errorf("tool %q: decision %q is none of \"allow\", \"ask\", \"deny\"", r.Tool, r.Decision)
		}
		if err := whenNames(r.When); err != nil {
			return fmt.Errorf("tool %q: %w", r.Tool, err)
		}
	}
	return nil
}

// Minimum limits with which a dynamically linked program starts.
const (
	minMemory    = 8 << 20
	minOpenFiles = 8
)

func (s Sandbox) validate() error {
	for _, name := range s.RequireOSSandbox.Protections {
		if err := oneOfProtections(name); err != nil {
			return err
		}
	}
	for _, list := range [][]string{s.Read, s.Write, s.Exec, s.Hidden, s.ReadOnly} {
		for _, p := range list {
			switch {
			case p == "" || strings.ContainsRune(p, 0):
				return fmt.Errorf("%q is not a path", p)
			case strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/"):
				return fmt.Errorf("%q: only \"~/\" is understood, not another user's home", p)
			}
			if _, err := path.Match(p, ""); err != nil {
				return fmt.Errorf("%q: %w (a \"[\" that is meant as such is written \"[[]\")", p, err)
			}
		}
	}
	for _, p := range s.granted() {
		if p == "~" || p == "~/" {
			return fmt.Errorf("%q is too much; name the folders that are meant", p)
		}
	}
	for _, p := range slices.Concat(s.granted(), s.Hidden, s.ReadOnly) {
		if filepath.Clean(p) == "/" {
			return fmt.Errorf("%q is too much; name the folders that are meant", p)
		}
	}
	for _, p := range s.Hidden {
		if filepath.Clean(p) == "/proc" {
			return fmt.Errorf("%q: no command starts without it, and it shows the sandbox alone", p)
		}
	}
	// bubblewrap, the helper and the loader take about 2 MiB.
	if m := s.Limits.Memory; m != 0 && m < minMemory {
		return fmt.Errorf("memory: no command starts with less than %d MiB; 0 is no limit", minMemory>>20)
	}
	if n := s.Limits.OpenFiles; n != 0 && n < minOpenFiles {
		return fmt.Errorf("open_files: no command starts with less than %d; 0 is no limit", minOpenFiles)
	}
	if !slices.Contains([]string{"auto", "native", "bwrap"}, s.Backend) {
		return fmt.Errorf("backend: %q is not auto, native or bwrap", s.Backend)
	}
	if s.Layers != "auto" && s.Layers != "off" {
		return fmt.Errorf("layers: %q is not auto or off", s.Layers)
	}
	if s.Land != "land" && s.Land != "hold" {
		return fmt.Errorf("land: %q is not land or hold", s.Land)
	}
	if s.Warm < 0 || s.Warm > 64 {
		return fmt.Errorf("warm: %d is not from 0 to 64", s.Warm)
	}
	if s.Limits.Processes < 0 || s.Limits.OpenFiles < 0 {
		return errors.New("a limit is not negative; 0 is none")
	}
	return nil
}

// oneOfProtections returns an error unless name is a protection that a host can report.
func oneOfProtections(name string) error {
	known := sandbox.Protections
	if slices.Contains(known, name) {
		return nil
	}
	suggestion := ""
	if near := spelling.Nearest(name, known); near != "" {
		suggestion = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("protection %q: there is none of that name; known are %s%s", name, wordList(known), suggestion)
}

func (e Environment) validate() error {
	for _, name := range e.Pass {
		if bare := strings.TrimSuffix(name, "*"); bare == "" || strings.ContainsAny(bare, "*=\x00 ") {
			return fmt.Errorf("%q is no variable's name, nor the beginning of one with \"*\"", name)
		}
	}
	for name, value := range e.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%q cannot be a variable", name)
		}
	}
	return nil
}

func (n Network) validate() error {
	for _, list := range [][]string{n.Allow, n.Deny} {
		for _, h := range list {
			if _, err := parseHostPort(h); err != nil {
				return err
			}
		}
	}
	for _, name := range n.Presets {
		if err := oneOfPresets(name, presetsWithHosts()); err != nil {
			return err
		}
	}
	for _, list := range [][]int{n.Ports, n.Listen, n.HostPorts, n.Publish} {
		for _, port := range list {
			if port < 1 || port > 65535 {
				return fmt.Errorf("%d is no port", port)
			}
		}
	}
	for _, port := range slices.Concat(n.HostPorts, n.Publish) {
		if port < 1024 {
			return fmt.Errorf("port %d: a command's localhost has ports from 1024 on for this", port)
		}
	}
	if len(n.HostPorts) > maxHostPorts || len(n.Publish) > maxHostPorts {
		return fmt.Errorf("at most %d ports can lead in, and as many out", maxHostPorts)
	}
	if n.Limits.Connections < 0 {
		return errors.New("a limit is not negative; 0 is none")
	}
	return nil
}

// maxHostPorts is the maximum number of sockets between inside and outside that can be passed
// at once.
const maxHostPorts = 32

// parseHostPort parses a host. It converts internationalised names to their ASCII form.
func parseHostPort(s string) (profile.HostPort, error) {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (!strings.Contains(s[:i], ":") || strings.HasSuffix(s[:i], "]")) {
		host, port = s[:i], s[i:]
	}
	canonical, err := egress.CanonicalHost(host)
	if err != nil {
		return profile.HostPort{}, err
	}
	if strings.Contains(canonical, ":") {
		canonical = "[" + canonical + "]"
	}
	return profile.ParseHostPort(canonical + port)
}

func (p Presets) validate() error {
	for _, name := range p.Use {
		if err := oneOfPresets(name, presets.Names()); err != nil {
			return err
		}
	}
	return nil
}

// presetsWithHosts returns the valid names of network.presets. A preset need not have both
// commands and hosts.
func presetsWithHosts() (names []string) {
	for _, p := range document.Presets() {
		if len(p.Network.Hosts) > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// oneOfPresets returns an error if name is not in known, with a suggestion from known.
func oneOfPresets(name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Errorf("preset %q: there is none of that name; did you mean %q?", name, near)
	}
	switch {
	case slices.Contains(presets.Names(), name):
		return fmt.Errorf(
			"preset %q has commands and no hosts: it goes into presets.use alone; with hosts there are %s",
			name,
			strings.Join(known, ", "),
		)
	case slices.Contains(presetsWithHosts(), name):
		return fmt.Errorf(
			"preset %q has hosts and no commands: it goes into network.presets alone; with commands there are %s",
			name,
			strings.Join(known, ", "),
		)
	}
	return fmt.Errorf("preset %q: there is none of that name; known are %s", name, strings.Join(known, ", "))
}

func (a Audit) validate() error {
	if a.Keep < 0 {
		return fmt.Errorf("%d is negative", a.Keep)
	}
	if a.Keep == 1 {
		return errors.New(
			"keep = 1 is too few: the file before the newest one is what a changed one is found by; 2 is the least, 0 keeps all",
		)
	}
	return nil
}

func (g Gateway) validate() error {
	if g.Listen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(g.Listen)
	if err != nil {
		return fmt.Errorf("%q is not \"127.0.0.1:PORT\" or \"[::1]:PORT\"", g.Listen)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address; the gateway listens on no other", g.Listen)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q has no port", g.Listen)
	}
	for _, o := range g.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != o {
			return fmt.Errorf("origins: %q is not an origin such as \"https://chat.example\"", o)
		}
	}
	return nil
}
