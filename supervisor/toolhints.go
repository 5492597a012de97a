package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/config"
	"sandboxd/profile/abspath"
	"sandboxd/profile/document"
	"sandboxd/shell"
	"sandboxd/shell/analysis"
	"sandboxd/shell/presets"
)

// fitting proposes the presets that fit a session's project and are not on, with the first question of the project; ""
// for none.
func fitting(sess *Session, cfg *config.Config) string {
	names := presets.Fitting(func(name string) bool {
		_, err := os.Lstat(filepath.Join(sess.Root, name))
		return err == nil
	})
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(cfg.Presets.Use, name) })
	if len(names) == 0 {
		return ""
	}
	return "presets that fit this project: sbx preset add " + strings.Join(names, " ")
}

// invisible names the programs of a command that its PATH does not have inside, and the person's does, each with the
// setting that shows it.
func invisible(sess *Session, r ExecRequest, env []string) (list []string) {
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	if i < 0 || r.callerRuns {
		return nil
	}
	inside := filepath.SplitList(strings.TrimPrefix(env[i], "PATH="))
	place := analysis.Place{Cwd: r.Cwd, Home: sess.Home}
	script := analysis.Command(r.Argv, place)
	if r.Line != "" {
		script = analysis.Line(r.Line, place)
	}
	for _, call := range script.Calls {
		name := call.Name()
		if name == "" || strings.Contains(name, "/") || findProgram(inside, name) != "" {
			continue
		}
		at := findProgram(personsPath(), name)
		if at == "" {
			continue
		}
		list = append(list, shell.Quote([]string{name})+" is not visible inside: "+shownBy(at, sess.Home))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// findProgram returns the path of an executable file of that name in the first of the directories that has one.
func findProgram(dirs []string, name string) string {
	for _, dir := range dirs {
		full := filepath.Join(dir, name)
		info, err := os.Stat(full)
		if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full
		}
	}
	return ""
}

// shownBy names the preset, or else the setting, that shows a program.
func shownBy(program, home string) string {
	for _, p := range document.Presets() {
		shows := func(dir string) bool {
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = filepath.Join(home, below)
			}
			return abspath.Contains(dir, program)
		}
		if _, err := presets.Lookup(p.Name); err == nil && slices.ContainsFunc(p.Paths.Exec, shows) {
			return "sbx preset add " + p.Name
		}
	}
	return fmt.Sprintf("[sandbox] exec = [%q]", filepath.Dir(program))
}
