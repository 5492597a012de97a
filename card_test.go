package house

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDesignCard holds the libraries and folders that the design card names: each library is
// required, and a package of ours that is no test imports it on Linux.
//
//   - Row card-07 yes: go-landlock
//   - Row card-08 yes: libseccomp-golang
//   - Row card-09 yes: golang.org/x/sys, BurntSushi/toml, mvdan.cc/sh/v3, go-systemd/v22
//   - Row card-10 yes: the folders and files at the top level
func TestDesignCard(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := strings.Fields(string(out))
	for _, library := range []string{"github.com/landlock-lsm/go-landlock", "github.com/seccomp/libseccomp-golang",
		"golang.org/x/sys", "github.com/BurntSushi/toml", "mvdan.cc/sh/v3", "github.com/coreos/go-systemd/v22"} {
		if !strings.Contains(string(mod), "\t"+library+" v") {
			t.Errorf("go.mod does not require %s", library)
		}
		of := func(imp string) bool { return imp == library || strings.HasPrefix(imp, library+"/") }
		if !slices.ContainsFunc(imports, of) {
			t.Errorf("no package of ours imports %s", library)
		}
	}
	for _, name := range []string{"cmd/sandboxd", "cmd/sbx", "profile", "seatbelt", "bwrap", "landlock", "approval",
		"ipc", "packaging", "Makefile", "README.md", "go.mod"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
