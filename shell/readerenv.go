package shell

import (
	"slices"

	"sandboxd/shell/analysis"
)

// readerEnv has the variables that a reader of the safe list needs, and those that it must not have.
type readerEnv struct {
	set   map[string]string
	unset []string
}

func (s *readerEnv) put(name, value string) {
	if s.set == nil {
		s.set = map[string]string{}
	}
	s.set[name] = value
}

func (s *readerEnv) drop(names ...string) {
	for _, name := range names {
		if !slices.Contains(s.unset, name) {
			s.unset = append(s.unset, name)
		}
	}
}

// differs reports whether another value is set for a variable.
func (s *readerEnv) differs(other readerEnv) bool {
	for name, value := range other.set {
		if have, ok := s.set[name]; ok && have != value {
			return true
		}
	}
	return false
}

func (s *readerEnv) add(other readerEnv) {
	for name, value := range other.set {
		s.put(name, value)
	}
	s.drop(other.unset...)
}

// readersEnvironment gives the readers' variables to the whole line if every command of it is a reader and they agree.
// Otherwise each reader gets its own by env(1), because another command must not have them: by `core.hooksPath` for
// `git log`, a commit beside it would run no hook. What bash itself runs has the line's environment in any case.
func (j *judging) readersEnvironment() {
	var all, own readerEnv
	for _, c := range j.script.Calls {
		state := j.calls[c]
		switch {
		case state == nil || !state.reader && !state.builtin && !state.transparent || all.differs(state.env):
			j.apart = true
		case state.builtin:
			own.add(state.env)
		}
		if state != nil {
			all.add(state.env)
		}
	}
	if j.apart {
		all = own
	}
	j.verdict.Env, j.verdict.Unset = all.set, all.unset
}

// withVariables returns the words of a call behind an env(1) with the variables of the call and of what it runs.
func (j *judging) withVariables(c *analysis.Call, args []analysis.Arg) []analysis.Arg {
	var all readerEnv
	all.add(j.calls[c].env)
	for _, in := range c.Wrapped {
		if inner := j.calls[in]; inner != nil {
			all.add(inner.env)
		}
	}
	if !j.apart || j.calls[c].builtin || len(all.set)+len(all.unset) == 0 {
		return args
	}
	env := literal("/usr/bin/env")
	for _, name := range all.unset {
		env = append(env, literal("-u", name)...)
	}
	for _, name := range sortedKeys(all.set) {
		env = append(env, analysis.Arg{Text: name + "=" + all.set[name]})
	}
	return append(env, args...)
}
