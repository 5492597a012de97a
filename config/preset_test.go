package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/config"
	"sandboxd/profile/document"
	"sandboxd/shell/presets"
)

// R-UX-08: a preset is written to the place of the list, whatever its form, and
// nothing else of the file changes.
func TestPresetsWritten(t *testing.T) {
	const head = "# top\n[approval]\ntimeout = \"7m\" # long\n"
	for _, c := range []struct{ name, before, add, rm, after string }{
		{"no file", "", "go", "", "[presets]\nuse = [\"go\"]\n"},
		{"no section", head, "go", "", head + "\n[presets]\nuse = [\"go\"]\n"},
		{"no end of line", "approval.timeout = \"7m\"", "go", "", "approval.timeout = \"7m\"\n\n[presets]\nuse = [\"go\"]\n"},
		{"empty section", "[presets] # mine\n\n" + head, "go", "", "[presets] # mine\nuse = [\"go\"]\n\n" + head},
		{"empty section at the end", head + "[presets]", "go", "", head + "[presets]\nuse = [\"go\"]\n"},
		{"empty list", "[presets]\nuse = [] # none\n", "go", "", "[presets]\nuse = [\"go\"] # none\n"},
		{"list", "presets.use = [\"c\"] # mine\n", "go", "", "presets.use = [\"c\", \"go\"] # mine\n"},
		{"lines", "[presets]\nuse = [\n  'c', # a\n  'rust', # b\n]\n", "go", "",
			"[presets]\nuse = [\n  'c', # a\n  'rust', \"go\", # b\n]\n"},
		{"inline", "presets = {use = [\"c\"]}\n", "go", "", "presets = {use = [\"c\", \"go\"]}\n"},
		{"inline, empty", "presets = {}\n", "go", "", "presets = {use = [\"go\"]}\n"},
		{"on already", "presets.use = [\"go\"]\n", "go", "", "presets.use = [\"go\"]\n"},
		{"first off", "presets.use = [\"c\", \"go\"] # x\n", "", "c", "presets.use = [\"go\"] # x\n"},
		{"last off", "[presets]\nuse = [\n  \"c\", # a\n  \"go\",\n]\n" + head, "", "go",
			"[presets]\nuse = [\n  \"c\",\n]\n" + head},
		{"only one off", "presets.use = [\"c\",]\n", "", "c", "presets.use = []\n"},
		{"twice off", "presets.use = [\"c\", \"go\", \"c\"]\n", "", "c", "presets.use = [\"go\"]\n"},
		{"none off", head, "", "go", head},
	} {
		t.Run(c.name, func(t *testing.T) {
			paths := config.Paths{User: filepath.Join(t.TempDir(), "config.toml")}
			if c.before != "" {
				write(t, paths.User, c.before)
			}
			var err error
			if c.add != "" {
				_, err = config.Add(paths, config.UsedPresets, []string{c.add})
			} else {
				_, err = config.Remove(paths, config.UsedPresets, []string{c.rm})
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(paths.User)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.after {
				t.Errorf("the file is now\n%s\nwant\n%s", got, c.after)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// What the operator's list lacks cannot be switched on; what it has can be
// switched off, and links and modes stay.
func TestPresetsOfTheOperator(t *testing.T) {
	dir := t.TempDir()
	paths := config.Paths{Operator: filepath.Join(dir, "operator.toml"), User: filepath.Join(dir, "user.toml")}
	write(t, paths.Operator, "presets.use = [\"go\", \"c\"]\n")
	_, err := config.Add(paths, config.UsedPresets, []string{"node"})
	if err == nil || !strings.Contains(err.Error(), "the operator's presets.use in "+paths.Operator) {
		t.Errorf("a preset that the operator's list lacks: %v", err)
	}
	if _, err := os.Lstat(paths.User); err == nil {
		t.Error("the refused change left a file")
	}
	real := filepath.Join(dir, "dotfiles.toml")
	write(t, real, "# mine\n")
	if err := os.Symlink(real, paths.User); err != nil {
		t.Fatal(err)
	}
	removed, err := config.Remove(paths, config.UsedPresets, []string{"go"})
	if err != nil || !slices.Equal(removed, []string{"go"}) {
		t.Fatalf("%q, %v", removed, err)
	}
	if info, err := os.Lstat(paths.User); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode changed: %v, %v", info, err)
	}
	cfg, _, err := config.Load(paths)
	if err != nil || !slices.Equal(cfg.Presets.Use, []string{"c"}) {
		t.Errorf("presets in force: %v, %v", cfg.Presets.Use, err)
	}
}

// Other lists of the user's file are changed the same way. The list of hosts begins with what is in force.
func TestListsWritten(t *testing.T) {
	dir := t.TempDir()
	paths := config.Paths{Operator: filepath.Join(dir, "operator.toml"), User: filepath.Join(dir, "user.toml")}
	write(t, paths.Operator, "network.allow = [\"a.example.org:443\", \"b.example.org:443\"]\n"+
		"permissions.allow = [\"Bash(ls *)\"]\n")
	for _, c := range []struct{ list, value, err string }{
		{config.AllowedCalls, "Bash(make *)", ""},
		{config.AllowedCalls, "Bash(", "permissions.allow"},
		{config.ReachableHost, "c.example.org:443", "the operator's network.allow in "},
		{config.ReachableHost, "not a host", "network.allow"},
		{"approval.timeout", "5m", "want presets.use, permissions.allow, network.allow"},
		{"files.protected", "x", "is not a list that can be changed so"},
	} {
		_, err := config.Add(paths, c.list, []string{c.value})
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s %q: got %v, want %q", c.list, c.value, err, c.err)
		}
	}
	if _, err := config.Remove(paths, config.ReachableHost, []string{"b.example.org:443"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(paths.User)
	want := "[permissions]\nallow = [\"Bash(make *)\"]\n\n[network]\nallow = [\"a.example.org:443\"]\n"
	if err != nil || string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	with, err := config.With(paths, config.UsedPresets, "go")
	if err != nil || !slices.Equal(with.Presets.Use, []string{"go"}) || len(with.Permissions.Allow) != 2 {
		t.Errorf("got %+v, %v", with, err)
	}
	if again, err := os.ReadFile(paths.User); err != nil || string(again) != string(text) {
		t.Errorf("With changed the file to\n%s", again)
	}
}

// Every preset of paths has its commands: one name switches both on. The shell
// tool has further ones, which open no path.
func TestPresetNames(t *testing.T) {
	for _, p := range document.Presets() {
		if _, err := presets.Lookup(p.Name); err != nil {
			t.Error(err)
		}
	}
	paths := config.Paths{User: filepath.Join(t.TempDir(), "config.toml")}
	if _, err := config.Add(paths, config.UsedPresets, presets.Names()); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(paths)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := cfg.ProfileTools(config.Session{Project: "/p", Home: "/home/eve"})
	if err != nil || len(tools.Presets) != len(document.Presets()) || !slices.Equal(cfg.Shell.Presets, presets.Names()) {
		t.Errorf("profile presets %q, shell presets %q, %v", tools.Presets, cfg.Shell.Presets, err)
	}
}

// R-SH-07, R-FS-03: what [files] and [sandbox] hide, protect and open is what
// the shell tool judges paths by.
func TestShellPlaces(t *testing.T) {
	project := t.TempDir()
	paths := config.Paths{User: filepath.Join(t.TempDir(), "config.toml")}
	write(t, paths.User, `
[files]
hidden = ["**/vault/**"]
protected = ["RELEASE"]
read_only = ["gen"]
[sandbox]
hidden = ["keys/prod", "~/money"]
read_only = ["third/party"]
read = ["/srv/docs", "~/notes"]
write = ["/srv/out"]
`)
	cfg, _, err := config.Load(paths)
	if err != nil {
		t.Fatal(err)
	}
	if cfg, _, err = cfg.ForProject(project); err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string]struct{ got, want []string }{
		"hidden":    {cfg.Shell.Hidden, []string{"vault", project + "/keys/prod", "~/money"}},
		"protected": {cfg.Shell.Protected, []string{"RELEASE", "gen", project + "/third/party"}},
		"read":      {cfg.Shell.ReadRoots, []string{"/usr", "/srv/docs", "~/notes", "/srv/out"}},
	} {
		for _, w := range list.want {
			if !slices.Contains(list.got, w) {
				t.Errorf("%s lacks %q: %q", what, w, list.got)
			}
		}
	}
}
