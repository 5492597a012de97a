package facts

import (
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"

	"sandboxd/shell"
)

// maxMakefile is the maximum number of bytes that are read of a makefile, and maxIncludes the
// maximum number of names.
const (
	maxMakefile = 1 << 20
	maxIncludes = 200
)

var (
	include = regexp.MustCompile(`^ *(?:-include|sinclude|include)[ \t]+(.*)$`)
	submake = regexp.MustCompile(`(?:\$[({]MAKE[)}]|\bmake)[ \t][^;&|]*?-C[ \t]*([^ \t;&|]+)`)
)

// makefile returns the names that a makefile includes, and the makefiles of the directories
// that it runs make in (GNU make, "Including Other Makefiles"). It omits names with variables
// other than $(CURDIR).
func (g *gatherer) makefile(name string) shell.MakefileFact {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return shell.MakefileFact{}
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return shell.MakefileFact{}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxMakefile))
	if err != nil {
		return shell.MakefileFact{}
	}
	var f shell.MakefileFact
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		line = strings.NewReplacer("$(CURDIR)/", "", "${CURDIR}/", "").Replace(strings.TrimRight(line, "\r\n"))
		if m := include.FindStringSubmatch(line); m != nil {
			words, _, _ := strings.Cut(m[1], "#")
			f.Includes = append(f.Includes, strings.Fields(words)...)
		}
		for _, m := range submake.FindAllStringSubmatch(line, -1) {
			for _, base := range []string{"GNUmakefile", "makefile", "Makefile"} {
				f.Includes = append(f.Includes, path.Join(m[1], base))
			}
		}
	}
	var plain []string
	for _, n := range f.Includes {
		if !strings.Contains(n, "$") && len(plain) < maxIncludes {
			plain = append(plain, n)
		}
	}
	f.Includes = plain
	return f
}
