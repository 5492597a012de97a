package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/BurntSushi/toml"
)

// operatorConfig is the operator's file. It may forbid that users start daemons
// of their own: [daemon] autostart = false.
const operatorConfig = "/etc/sandboxd/config.toml"

// forbidden returns why the operator's file does not let a user's daemon be
// started. A file that is there and cannot be read forbids it: a daemon could
// not keep to it either.
func forbidden(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: the operator's configuration cannot be read: %w", errNotStarted, err)
	}
	var c struct {
		Daemon struct {
			Autostart *bool `toml:"autostart"`
		} `toml:"daemon"`
	}
	if _, err := toml.Decode(string(text), &c); err != nil {
		return fmt.Errorf("%w: %q: %w; the operator must fix it", errNotStarted, path, err)
	}
	if c.Daemon.Autostart != nil && !*c.Daemon.Autostart {
		return fmt.Errorf("%w: %q has [daemon] autostart = false; ask the operator to start sandboxd", errNotStarted, path)
	}
	return nil
}
