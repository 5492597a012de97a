package shell

import (
	"strings"

	"sandboxd/shell/carried"
)

// harmlessEnv lists variables that change a program's output format but not the code that runs.
// A trailing * matches any suffix.
var harmlessEnv = []string{
	"LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
	"CLICOLOR_FORCE", "COLORTERM", "CI",
	"GREP_COLORS", "LS_COLORS", "BLOCK_SIZE", "TIME_STYLE", "QUOTING_STYLE",
	"CLAUDECODE", "GEMINI_CLI", // which agent runs the command
}

// buildEnv lists variables that builds and tests commonly set. They change the behaviour of
// project code, which runs inside the sandbox. They name no program and no library.
var buildEnv = []string{
	"CGO_ENABLED", "GOOS", "GOARCH", "GOAMD64", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG", "GORACE", "GOTRACEBACK",
	"GOTEST*", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS", "CARGO_TERM_COLOR", "CARGO_INCREMENTAL",
	"NODE_ENV", "BABEL_ENV", "JEST_*", "VITEST*", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED",
	"DJANGO_SETTINGS_MODULE", "FLASK_ENV",
	"DEBUG", "VERBOSE", "LOG_LEVEL", "TEST_*", "TESTS_*", "MAKEFLAGS", "JOBS", "V", "ASAN_OPTIONS", "UBSAN_OPTIONS",
	"TSAN_OPTIONS", "LSAN_OPTIONS", "CTEST_OUTPUT_ON_FAILURE", "SOURCE_DATE_EPOCH", "RACK_ENV", "RAILS_ENV", "ENV",
	"APP_ENV", "PORT", "HOST",
}

// plainValue reports whether a variable's value names no file and no format.
func plainValue(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_-.,:=;@+ /", c) >= 0:
		default:
			return false
		}
	}
	return !strings.Contains(s, "/") ||
		!strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ":") && !strings.Contains(s, "..")
}

// envHarmless reports whether setting name to value leaves the command's behaviour unchanged.
func envHarmless(name, value string) bool {
	return carried.Named(harmlessEnv, name) && plainValue(value)
}

// envWhy returns the reason and the risk of setting a variable.
func envWhy(name string) (why string, risk Risk) {
	if carried.Loads(name) {
		return "the variable " + name + " can change which program or code runs", RiskHigh
	}
	return "the variable " + name + " is not one that is known to be harmless", RiskNormal
}
