package shell

import (
	"strings"

	"sandboxd/shell/carried"
)

// harmlessEnv are variables that change how a program prints, not what runs.
// A trailing * stands for the rest of the name.
var harmlessEnv = []string{
	"LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "CI",
	"GREP_COLORS", "LS_COLORS", "BLOCK_SIZE", "TIME_STYLE", "QUOTING_STYLE",
}

// buildEnv are variables that commonly stand in front of builds and tests. They
// change what project code does, which runs inside the sandbox anyway; they name
// no program and no library.
var buildEnv = []string{
	"CGO_ENABLED", "GOOS", "GOARCH", "GOAMD64", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG", "GORACE", "GOTRACEBACK", "GOTEST*", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS", "CARGO_TERM_COLOR", "CARGO_INCREMENTAL",
	"NODE_ENV", "BABEL_ENV", "JEST_*", "VITEST*", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "DJANGO_SETTINGS_MODULE", "FLASK_ENV",
	"DEBUG", "VERBOSE", "LOG_LEVEL", "TEST_*", "TESTS_*", "MAKEFLAGS", "JOBS", "V", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "CTEST_OUTPUT_ON_FAILURE", "SOURCE_DATE_EPOCH", "RACK_ENV", "RAILS_ENV", "ENV", "APP_ENV", "PORT", "HOST",
}

// plainValue says that a variable's value names no file and no format.
func plainValue(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_-.,:=;@+ /", c) >= 0:
		default:
			return false
		}
	}
	return !strings.Contains(s, "/") || !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ":") && !strings.Contains(s, "..")
}

// envHarmless says whether setting name to value leaves a command what it is.
func envHarmless(name, value string) bool {
	return carried.Named(harmlessEnv, name) && plainValue(value)
}

// envWhy explains why a variable asks.
func envWhy(name string) (why string, risk Risk) {
	if carried.Loads(name) {
		return "the variable " + name + " can change which program or code runs", RiskHigh
	}
	return "the variable " + name + " is not one that is known to be harmless", RiskNormal
}
