// Package programtest gives tests the product's programs. They take a minute of compiling, so a run of all tests
// builds them once and hands them on.
package programtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Given is the variable that names a directory with programs that are built already, from the same tree.
const Given = "SBX_TEST_PROGRAMS"

// built are the programs by their packages; C, where cgo is needed.
var built = []struct{ name, pkg, cgo string }{
	{"sandboxd", "./cmd/sandboxd", "1"}, {"sbx", "./cmd/sbx/front", "0"},
	{"sbx-verbs", "./cmd/sbx", "0"}, {"sbx-mcp", "./cmd/sbx/mcp", "0"},
}

// launcher is the program that is C, which build.sh compiles.
const launcher = "sandboxd-launch"

// Put puts the programs into dir side by side, as they are installed: copies of those in $SBX_TEST_PROGRAMS, because
// some users can't execute the originals, or newly built ones where that is empty. defaultBackend, where it isn't
// empty, becomes the default of [sandbox] backend; only a build can do that.
func Put(dir, defaultBackend string) error {
	top, err := repository()
	if err != nil {
		return err
	}
	given := os.Getenv(Given)
	for _, b := range built {
		if given != "" && defaultBackend == "" {
			if err := copyProgram(filepath.Join(given, b.name), filepath.Join(dir, b.name)); err != nil {
				return err
			}
			continue
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, b.name))
		if defaultBackend != "" {
			cmd.Args = append(cmd.Args, "-ldflags=-X sandboxd/config.defaultBackend="+defaultBackend)
		}
		cmd.Args = append(cmd.Args, b.pkg)
		cmd.Dir, cmd.Env = top, append(os.Environ(), "CGO_ENABLED="+b.cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.name, err, out)
		}
	}
	if given != "" {
		return copyProgram(filepath.Join(given, launcher), filepath.Join(dir, launcher))
	}
	file := filepath.Join(dir, launcher)
	if out, err := exec.Command(filepath.Join(top, "cmd/sandboxd-launch/build.sh"), file).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", launcher, err, out)
	}
	return nil
}

// repository is the directory with go.mod at or above the working directory, which is the test's package.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; at != "/"; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("find go.mod: none at or above %q", dir)
}

func copyProgram(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
