package carried

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// pipValues are options of pip whose value is the next word, and no package.
var pipValues = set(`--timeout --retries --upgrade-strategy --no-binary --only-binary --platform --python-version
	--implementation --abi --exists-action --progress-bar --config-settings --global-option --keyring-provider`)

// pip reads the packages that stand beside a file of requirements which the permitting words spell, and those that are
// named by a place.
func pip(s *scan, from int) {
	lists := false
	for at := from; at < len(s.argv); at++ {
		lists = lists || s.spelled(at) && (Means(s.argv[at], "-r", "irctef") || Means(s.argv[at], "--requirement", ""))
	}
	for at := from; at < len(s.argv); at++ {
		switch w := s.argv[at]; {
		case w == "" || w[0] == '-':
		case strings.Contains(w, "://"):
			s.add(Host, at)
		case lists && !pipValues[s.argv[at-1]]:
			s.add(Module, at)
		}
	}
}

// remoteSyntax are the characters by which a word is more than a word to the shell of another machine.
const remoteSyntax = ";&|<>()`$\n\\\"'*?[]{}~!#"

// ssh reads the words behind the host, which the other machine's shell reads again.
func ssh(s *scan, from int) {
	if name := path.Base(s.argv[from-1]); name != "ssh" && name != "slogin" {
		return
	}
	host := s.operand(from)
	for at := host + 1; at < len(s.argv); at++ {
		if strings.ContainsAny(s.argv[at], remoteSyntax) {
			s.add(Code, at)
		}
	}
}

// curlFlags are long options of curl without a value, behind which another URL may stand.
var curlFlags = set(`--silent --show-error --fail --fail-with-body --location --insecure --compressed --head --include
	--verbose --get --globoff --next --ipv4 --ipv6 --http1.1 --http2 --http3 --no-buffer --parallel --raw --tcp-nodelay`)

var number = regexp.MustCompile(`^[0-9.]*$`)

// curl finds the URLs besides one that the permitting words spell, and the files of the project that it would send.
func curl(s *scan, from int) {
	spelled := false
	for at := from; at < len(s.argv); at++ {
		spelled = spelled || s.spelled(at) && strings.Contains(s.argv[at], ".") && s.argv[at][0] != '-'
	}
	for at := from; at < len(s.argv); at++ {
		w, before := s.argv[at], s.argv[at-1]
		short := len(before) > 1 && before[0] == '-' && before[1] != '-' &&
			strings.ContainsRune(curlValues(), rune(before[len(before)-1]))
		long := strings.HasPrefix(before, "--") && !strings.Contains(before, "=") && !curlFlags[before]
		switch {
		case strings.HasPrefix(w, "file:"), strings.HasPrefix(w, "@"), strings.Contains(w, "=@"), strings.Contains(w, "=<"),
			len(w) > 3 && w[0] == '-' && w[2] == '@':
			s.add(File, at)
		case w == "" || w[0] == '-':
		case !spelled: // a first one may be what the pattern has wildcards for
			spelled = strings.Contains(w, "://")
		case strings.Contains(w, "://"), !short && !long,
			long && !number.MatchString(w) && strings.Contains(w, ".") && !strings.ContainsAny(w, " {"):
			s.add(Host, at)
		}
	}
}

func curlValues() string { return tools()["curl"].values }

// reports are the endings of files that go test writes about a run.
var reports = words(".out .cov .prof .pprof .txt .html .trace")

// profiled reports that a profile of go test gets the name of one, in the directory of the run or below.
func profiled(option, value string) bool {
	if !strings.Contains(option, "prof") && !strings.HasSuffix(option, "trace") {
		return strings.HasSuffix(option, "outputdir") && localName(value)
	}
	return localName(value) && slices.Contains(reports, path.Ext(value))
}

// localName reports that a path is below the working directory, and nothing of it is hidden.
func localName(name string) bool {
	return name != "" && name[0] != '/' && !slices.ContainsFunc(strings.Split(name, "/"),
		func(part string) bool { return strings.HasPrefix(part, ".") && part != "." })
}
