package carried

import (
	"slices"
	"strings"
)

// loaders are variables with which the words of a command no longer tell the program
// that runs: loaders, shells, interpreters, pagers, version control, search paths.
var loaders = words(`
	LD_* DYLD_* PATH SHELL BASH_ENV ENV BASH_FUNC_* SHELLOPTS BASHOPTS PS0 PS1 PS2 PS4 PROMPT_COMMAND IFS CDPATH
	GLOBIGNORE HOME GIT_* PAGER MANPAGER EDITOR VISUAL BROWSER LESS* PYTHON* PERL* RUBY* NODE_OPTIONS NODE_PATH
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH GCONV_PATH LOCPATH NLSPATH RIPGREP_CONFIG_PATH
	GREP_OPTIONS TAR_OPTIONS AWKPATH AWKLIBPATH GOFLAGS GOROOT GOPATH GOPROXY GOTOOLCHAIN CC CXX RUSTC* CARGO_*
	npm_config_* NPM_CONFIG_* TERMINFO* TMPDIR XDG_* SSH_* MAKEFLAGS`)

// Loads reports whether a variable of that name can change which program or code runs.
func Loads(name string) bool { return Named(loaders, name) }

// Named reports whether a list has a name; a * at the end of an entry matches the rest of a name.
func Named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return p == name
	})
}
