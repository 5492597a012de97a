package carried

import (
	"slices"
	"strings"
)

// gitTemplates are the commands whose --template is a text, and no directory with hooks.
var gitTemplates = []string{"commit", "tag", "notes"}

// git reads git's own options, then those of its command.
func git(s *scan, from int) {
	at := from
	for ; at < len(s.argv) && strings.HasPrefix(s.argv[at], "-"); at++ {
		w, _, joined := strings.Cut(s.argv[at], "=")
		switch w {
		case "-c", "--config-env":
			s.add(Code, at)
		case "--exec-path":
			if joined {
				s.add(Program, at)
			}
		case "-C", "--git-dir", "--work-tree":
			s.add(File, at)
		}
		if !joined && slices.Contains([]string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"}, w) {
			at++
		}
	}
	if at >= len(s.argv) {
		return
	}
	verb := s.argv[at]
	for _, name := range []string{"git *", "git " + verb} {
		t, ok := tools()[name]
		if !ok {
			continue
		}
		own := *t
		own.harmless = func(option, value string) bool {
			output := option == "-o" || strings.HasPrefix(option, "--output")
			return output && format(value) || option == "--template" && slices.Contains(gitTemplates, verb)
		}
		s.options(&own, at+1)
	}
	s.holds(at+1, Code, "ext::")
}
