package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peer is another program that runs a command in a sandbox. Its arguments ask for
// the product's defaults, as near as it can: the system read-only,
// the project writable, no network.
type peer struct {
	program, version string
	args             func(project, dir string) ([]string, error)
}

var peers = []peer{
	{"firejail", "--version", func(project, _ string) ([]string, error) {
		return []string{"--quiet", "--noprofile", "--net=none", "--private-dev", "--private-tmp", "--read-only=/",
			"--read-write=" + project,
			"--caps.drop=all", "--nonewprivs", "--seccomp", "--", command}, nil
	}},
	{"landrun", "--version", func(project, _ string) ([]string, error) {
		return []string{"--rox", "/usr", "--ro", "/etc", "--rwx", project, "--", command}, nil
	}},
	{"nsjail", "--help", func(project, _ string) ([]string, error) {
		return []string{"-Mo", "--quiet", "--chroot", "/", "--bindmount", project, "--tmpfsmount", "/tmp", "--cwd", project,
			"--", "/usr/bin/" + command}, nil
	}},
	{"srt", "--version", func(project, dir string) ([]string, error) {
		file, err := settings(dir, "srt.json", map[string]any{
			"network":    map[string]any{"allowedDomains": []string{}, "deniedDomains": []string{}},
			"filesystem": map[string]any{"denyRead": []string{}, "allowWrite": []string{project}, "denyWrite": []string{}},
		})
		return []string{"--settings", file, command}, err
	}},
	{"fence", "--version", func(project, dir string) ([]string, error) {
		file, err := settings(dir, "fence.json", map[string]any{
			"network":    map[string]any{"allowedDomains": []string{}},
			"filesystem": map[string]any{"allowWrite": []string{project}},
		})
		return []string{"--settings", file, "--", command}, err
	}},
	{"codex", "--version", func(string, string) ([]string, error) { return []string{"sandbox", "--", command}, nil }},
}

// settings writes a peer's configuration.
func settings(dir, name string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, b, 0o600)
}

// installed are the ways of the peers that are here and can run the command, and
// the reasons of the others' absence.
func installed(project string) (ways []way, missing []string, err error) {
	dir, err := os.MkdirTemp("", "sbxbench")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	for _, p := range peers {
		path, lookErr := exec.LookPath(p.program)
		if lookErr != nil {
			missing = append(missing, p.program+" is not installed")
			continue
		}
		args, err := p.args(project, dir)
		if err != nil {
			return nil, nil, err
		}
		run := func() error {
			cmd := exec.Command(path, args...)
			cmd.Dir = project
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
			}
			return nil
		}
		if err := run(); err != nil {
			missing = append(missing, fmt.Sprintf("%s does not run here (%s)", p.program, firstLine(err.Error())))
			continue
		}
		ways = append(ways, way{name: strings.TrimSpace(p.program + " " + versionOf(path, p.version)), run: run})
	}
	return ways, missing, nil
}

// versionOf returns the version number in a program's output; "" for none.
func versionOf(path, flag string) string {
	out, _ := exec.Command(path, flag).CombinedOutput()
	for _, word := range strings.Fields(firstLine(string(out))) {
		if strings.Contains(word, ".") && strings.ContainsAny(word[:1], "v0123456789") {
			return word
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
