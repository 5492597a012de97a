// Package shelltest reads the catalogue of approval by-passes and reports whether
// an answer to one of its cases is right. The same runner is used on the tool
// itself and on the daemon through "sbx check --jsonl".
package shelltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sandboxd/shell"
)

// Case is one line of the catalogue.
type Case struct {
	ID      string
	Class   string
	Command string
	// Expect is "auto", "ask" or "deny-or-ask".
	Expect string
	Why    string
	// Allow and Deny are permissions that are added to the default.
	Allow, Deny []string
	// ProtectedRead are further hidden paths.
	ProtectedRead []string
	// Env, Cwd and TTY are further fields of the request.
	Env map[string]string
	Cwd string
	TTY bool
	// Description is the agent's text.
	Description string
	// Setup is bash that prepares the repository; "" for none.
	Setup string
}

// Decode reads a catalogue.
func Decode(data []byte) ([]Case, error) {
	var out []Case
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var line struct {
			ID, Class, Command, Expect, Why, Description, Setup string
			Config                                              json.RawMessage
			Request                                             struct {
				Env map[string]string
				Cwd string
				TTY bool
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("read catalogue: line %d: %w", len(out)+1, err)
		}
		c := Case{ID: line.ID, Class: line.Class, Command: line.Command, Expect: line.Expect, Why: line.Why,
			Description: line.Description, Setup: line.Setup, Env: line.Request.Env, Cwd: line.Request.Cwd,
			TTY: line.Request.TTY}
		if len(line.Config) > 0 && line.Config[0] == '{' {
			var rules struct {
				Allow, Deny   []string
				ProtectedRead []string `json:"protected_read"`
			}
			d := json.NewDecoder(bytes.NewReader(line.Config))
			d.DisallowUnknownFields()
			if err := d.Decode(&rules); err != nil {
				return nil, fmt.Errorf("read catalogue: %s: %w", c.ID, err)
			}
			c.Allow, c.Deny, c.ProtectedRead = rules.Allow, rules.Deny, rules.ProtectedRead
		}
		switch c.Expect {
		case "auto", "ask", "deny-or-ask":
		default:
			return nil, fmt.Errorf("read catalogue: %s: it expects %q, which is unknown", c.ID, c.Expect)
		}
		out = append(out, c)
	}
	return out, sc.Err()
}

// Config is the configuration that the case wants.
func (c Case) Config() (shell.Config, error) {
	cfg := shell.Config{Hidden: c.ProtectedRead}
	add := func(list []string, to *[]shell.Permission) error {
		for _, s := range list {
			p, err := shell.ParsePermission("Bash(" + s + ")")
			if err != nil {
				return err
			}
			*to = append(*to, p)
		}
		return nil
	}
	if err := add(c.Allow, &cfg.Permissions.Allow); err != nil {
		return cfg, err
	}
	return cfg, add(c.Deny, &cfg.Permissions.Deny)
}

// Judge returns an error when decision is not a right answer to the case.
func (c Case) Judge(decision string) error {
	if !c.right(decision) {
		return fmt.Errorf("%s (%s): %q is %s, want %s", c.ID, c.Class, c.Command, decision, c.Expect)
	}
	return nil
}

// right reports whether decision ("auto", "ask", "deny" or "block") is a right
// answer to the case.
func (c Case) right(decision string) bool {
	switch c.Expect {
	case "auto":
		return decision == "auto"
	case "ask":
		return decision == "ask"
	}
	return decision == "ask" || decision == "deny" || decision == "block"
}

// Prepare makes the case's repository in dir, which it creates if need be, with
// the files that the safe commands of the catalogue read.
func (c Case) Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("prepare %s: %w", c.ID, err)
	}
	if c.Setup == "" {
		return nil
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-ec", c.Setup)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("prepare %s: %w: %s", c.ID, err, out)
	}
	return nil
}
