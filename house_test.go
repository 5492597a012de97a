// Package house has no code: its tests hold the rules that the whole house
// follows (ARCHITECTURE.md).
package house

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "sandboxd"

// mayImport says which of our rooms a room may import, itself and its
// sub-packages aside. A room that is not listed here does not belong.
var mayImport = map[string][]string{
	"acp":               {"internal/jsonrpc", "ipc"},
	"approval":          {"internal/durable", "pattern"},
	"approval/answerer": {"approval", "process"},
	"audit":             {"secret"},
	"broker":            {"audit", "ipc", "internal/accept", "internal/fdconn"},
	"bwrap":             {"profile"},
	"clients":           {},
	"config":            {"approval", "egress", "shell", "files", "notify", "profile", "sandbox", "internal/spelling"},
	"display":           {},
	"egress":            {"internal/accept"},
	"files": {"approval", "git", "internal/durable", "internal/fdconn", "internal/modes", "layer",
		"pattern", "profile"},
	"gateway":              {"display", "ipc"},
	"git":                  {"profile/abspath"},
	"notify":               {"approval", "approval/external", "display", "process", "secret"},
	"hook":                 {"ipc"},
	"internal/accept":      {},
	"internal/durable":     {},
	"internal/modes":       {},
	"internal/fdconn":      {},
	"internal/jsonrpc":     {},
	"internal/programtest": {},
	"internal/rapidtest":   {},
	"internal/spelling":    {},
	"ipc":                  {"process", "internal/accept", "internal/fdconn"},
	"landlock":             {"profile"},
	"layer":                {"git", "internal/durable", "internal/modes"},
	"mcp":                  {"display", "internal/jsonrpc", "ipc"},
	"pattern":              {},
	"process":              {},
	"profile":              {"internal/spelling", "pattern", "secret"},
	"sandbox":              {"internal/modes", "profile", "bwrap", "landlock", "process", "seccomp", "seatbelt", "watch"},
	"seatbelt":             {"pattern", "profile"},
	"seccomp":              {"profile"},
	"secret":               {},
	"shell":                {"approval", "git", "pattern", "profile"},
	"supervisor": {"approval", "internal/accept", "audit", "config", "egress", "files", "git", "internal/durable",
		"internal/modes", "layer", "process", "profile", "sandbox", "secret", "shell", "watch"},
	"watch":              {},
	"cmd/internal/paths": {},
	"cmd/sandboxd": {"approval", "approval/answerer", "approval/external", "audit", "broker", "cmd/internal/paths",
		"config", "display", "files", "gateway", "ipc", "notify", "process", "profile", "sandbox", "shell", "supervisor"},
	"cmd/sbx": {"acp", "cmd/internal/paths", "ipc",
		"hook", "mcp", "audit", "display", "process", "internal/spelling"},
	"packaging/demo": {},
	// Rooms of tests only.
	"acceptance":   {"*"},
	"bench":        {"approval", "audit", "bwrap", "config", "ipc", "profile"},
	"differential": {"*"},
	"":             {},
}

// alsoNever are packages that a binary must not even link.
var alsoNever = map[string][]string{
	"sandboxd/cmd/sbx": {"sandboxd/mcp", "encoding/gob", // what only one verb needs is a program of its own
		"sandboxd/supervisor", "sandboxd/shell", "sandboxd/sandbox", "sandboxd/bwrap", "sandboxd/landlock",
		// its package initialisation runs `tmux info`, from $PATH, before main
		"sandboxd/seccomp", "sandboxd/seatbelt", "charm.land/lipgloss/v2"},
	// what a command waits for
	"sandboxd/cmd/sbx/front": {"sandboxd/ipc", "net", "net/http", "encoding/json", "fmt", "github.com/spf13/cobra"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, goos string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", goos, err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// room is the longest entry of mayImport that holds the package.
func room(path string) (string, bool) {
	rel := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for r := rel; ; r = r[:strings.LastIndex(r, "/")] {
		if _, ok := mayImport[r]; ok {
			return r, true
		}
		if !strings.Contains(r, "/") {
			return "", rel == ""
		}
	}
}

func TestImportDirections(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos) {
			from, ok := room(p.ImportPath)
			if !ok {
				t.Errorf("%s: %s is in no room; add it to ARCHITECTURE.md and to this table", goos, p.ImportPath)
				continue
			}
			for _, imp := range p.Imports {
				if imp != module && !strings.HasPrefix(imp, module+"/") {
					continue
				}
				to, _ := room(imp)
				if to == from || allowed(mayImport[from], strings.TrimPrefix(imp, module+"/"), to) {
					continue
				}
				t.Errorf("%s: %s imports %s, which %s may not", goos, p.ImportPath, imp, from)
			}
			for _, never := range alsoNever[p.ImportPath] {
				for _, dep := range p.Deps {
					if dep == never {
						t.Errorf("%s: %s links %s", goos, p.ImportPath, never)
					}
				}
			}
		}
	}
}

// cmd/sandboxd-launch is C without a C library, small enough to be read whole: it includes
// the kernel's headers and its own only, and links nothing.
func TestLaunchProgramIsFreestanding(t *testing.T) {
	const dir, most = "cmd/sandboxd-launch", 2000
	include := regexp.MustCompile(`(?m)^#include (.*)$`)
	ours := regexp.MustCompile(`^("[a-z]+\.h"|<(asm|linux)/[a-z_]+\.h>|<std(def|int)\.h>)$`)
	lines := 0
	each(t, func(path string) {
		if filepath.Dir(path) != dir || !slices.Contains([]string{".c", ".h"}, filepath.Ext(path)) {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(b, []byte("\n"))
		for _, m := range include.FindAllStringSubmatch(string(b), -1) {
			if !ours.MatchString(m[1]) {
				t.Errorf("%s includes %s", path, m[1])
			}
		}
	})
	if lines == 0 || lines > most {
		t.Errorf("%s has %d lines, want at most %d", dir, lines, most)
	}
	program := filepath.Join(t.TempDir(), "sandboxd-launch")
	if out, err := exec.Command(dir+"/build.sh", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC || p.Flags&(elf.PF_W|elf.PF_X) == elf.PF_W|elf.PF_X {
			t.Errorf("%v %v: it loads something, or has memory that is writable and executable", p.Type, p.Flags)
		}
	}
}

func allowed(list []string, path, room string) bool {
	for _, a := range list {
		if a == "*" || a == room || a == path {
			return true
		}
	}
	return false
}

// each calls f for every file of the tree that is ours.
func each(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "node_modules", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			f(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnePackageCommentPerFolder(t *testing.T) {
	comments := map[string][]string{}
	each(t, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			return
		}
		dir := filepath.Dir(path)
		if comments[dir] == nil {
			comments[dir] = []string{}
		}
		if documents(f) {
			comments[dir] = append(comments[dir], filepath.Base(path))
		}
	})
	for dir, files := range comments {
		// A command may say it once for each system.
		if len(files) == 0 || (len(files) > 1 && !strings.HasPrefix(dir, "cmd"+string(filepath.Separator))) {
			t.Errorf("%s: %d files have a package comment: %v", dir, len(files), files)
		}
	}
}

func documents(f *ast.File) bool {
	return f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != ""
}

var pathInText = regexp.MustCompile("(?:\\]\\(|`)((?:docs|packaging|cmd|clients|\\.ci|[a-z]+)/[A-Za-z0-9_./-]+|[A-Z]+\\.md)[)`]")

func TestPathsInDocumentsExist(t *testing.T) {
	each(t, func(path string) {
		if !strings.HasSuffix(path, ".md") {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			return
		}
		for _, m := range pathInText.FindAllStringSubmatch(string(b), -1) {
			name := strings.TrimSuffix(m[1], "/")
			top := strings.SplitN(name, "/", 2)[0]
			if _, err := os.Stat(top); err != nil {
				continue // not a path of this tree
			}
			if top == "bin" {
				continue // made by the build
			}
			if _, err := os.Stat(name); err != nil {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil {
					t.Errorf("%s names %s, which does not exist", path, m[1])
				}
			}
		}
	})
}

// Tests may not skip: a skip hides that a promise was not tried. That goes for
// the steps of a random walk, too: one that has nothing to do does another.
func TestNoTestSkips(t *testing.T) {
	each(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok &&
				slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				t.Errorf("%s may skip: %s", path, sel.Sel.Name)
			}
			return true
		})
	})
}
