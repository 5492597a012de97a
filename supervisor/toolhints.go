package supervisor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/profile/abspath"
	"sandboxd/profile/document"
	"sandboxd/shell"
	"sandboxd/shell/analysis"
	"sandboxd/shell/presets"
)

// fitting returns the presets that fit a session's project and are not on, for the first question of the project.
func fitting(sess *Session, cfg *config.Config) []string {
	names := presets.Fitting(func(name string) bool {
		_, err := os.Lstat(filepath.Join(sess.Root, name))
		return err == nil
	})
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(cfg.Presets.Use, name) })
}

// unseenProgram is a program of a command that its PATH does not have inside, and the person's does.
type unseenProgram struct {
	name   string
	other  string // of the same name, which runs inside; "": none
	preset string // that shows it; "": none does
	dir    string // that has it
}

// String names the program with the setting that shows it.
func (u unseenProgram) String() string {
	remedy := fmt.Sprintf("[sandbox] exec = [%q]", u.dir)
	if u.preset != "" {
		remedy = "sbx preset add " + u.preset
	}
	if u.other != "" {
		return fmt.Sprintf("%s inside is %s, and yours is in %s: %s", shell.Quote([]string{u.name}), u.other, u.dir, remedy)
	}
	return shell.Quote([]string{u.name}) + " is not visible inside: " + remedy
}

// unseenPrograms finds these programs.
func unseenPrograms(sess *Session, r ExecRequest, env []string) (list []unseenProgram) {
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
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		at, other := findProgram(personsPath(), name), findProgram(inside, name)
		if at == "" || at == other || other != "" && slices.Contains(inside, filepath.Dir(at)) {
			continue
		}
		// Another one of that name is told of where a preset is chosen that has the person's.
		if preset := shownBy(at, sess.Home); other == "" || preset != "" {
			list = append(list, unseenProgram{name, other, preset, filepath.Dir(at)})
		}
	}
	slices.SortFunc(list, func(a, b unseenProgram) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(list)
}

// invisible describes them.
func invisible(sess *Session, r ExecRequest, env []string) (list []string) {
	for _, u := range unseenPrograms(sess, r, env) {
		list = append(list, u.String())
	}
	return list
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

// shownBy names the preset that shows a program; "": none does.
func shownBy(program, home string) string {
	for _, p := range document.Presets() {
		shows := func(dir string) bool {
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = filepath.Join(home, below)
			}
			return abspath.Contains(dir, program)
		}
		if _, err := presets.Lookup(p.Name); err == nil && slices.ContainsFunc(p.Paths.Exec, shows) {
			return p.Name
		}
	}
	return ""
}

// hint adds the programs that a command does not have, and the presets that fit its project, to its question. It offers
// the presets that the user's configuration can have.
func (s *Supervisor) hint(e *Exec, j *judgement, c *approval.Call) {
	var list []approval.Preset
	if j.plan != nil {
		for _, u := range unseenPrograms(e.Session, e.Request, j.plan.Command.Env) {
			c.Request.Reasons = append(c.Request.Reasons, u.String())
			list = append(list, approval.Preset{Name: u.preset, Why: u.name + " is not visible inside"})
		}
	}
	if j.trusts && len(j.fitting) > 0 {
		for _, name := range j.fitting {
			list = append(list, approval.Preset{Name: name})
		}
		c.Request.Reasons = append(c.Request.Reasons,
			"presets that fit this project: sbx preset add "+strings.Join(j.fitting, " "))
	}
	for _, p := range list {
		same := func(o approval.Preset) bool { return o.Name == p.Name }
		if p.Name == "" || slices.ContainsFunc(c.Presets, same) {
			continue
		}
		if _, err := config.With(s.paths, config.UsedPresets, p.Name); err == nil {
			c.Presets = append(c.Presets, p)
		}
	}
}

// UsePresets switches presets of a question on, in the user's configuration. The configuration in force stays until a
// Reload.
func (s *Supervisor) UsePresets(by approval.Identity, request string, names []string) error {
	rec := audit.Record{Category: audit.Config, Operation: "add presets", Subject: strings.Join(names, " "),
		By: by.String() + " answering " + request}
	return s.Carry(rec, func() error {
		_, err := config.Add(s.paths, config.UsedPresets, names)
		return err
	})
}
