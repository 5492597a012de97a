package config

import (
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

var seeds = []string{
	"", "[daemon]\nidle_timeout = \"1m\"\n", "a.b.c = 1\n",
	"[[shell.rules]]\npattern = 'x'\n[[shell.rules]]\npattern = \"y\" # c\n", "x = [1, [2, 3], {a = 'b', c = [1]}]\n",
	"s = \"\"\"\na\\\n  b\"\"\"\"\"\nt = '''x'''''\nu = 1\n", "\"quo.ted\".'k' = \"\\u00e9\\\"\"\n",
	"[a]\nb = 1\n[a.c.d]\ne = 2\n[[a.l]]\nx = 1\n[a.l.m]\ny = 2\n[[a.l]]\nx = 3\n",
	"d = 1979-05-27 07:32:00Z\nt = 07:32:00\nf = 1e5\nh = 0xff\n", "\ufeffa = 1\r\nb = 2\r\n",
	"a = [\n 1, # one\n\n 2,\n]\nb={}\nc=[]\n", "[ a . \"b c\" ] # x\n",
	"sandbox = {limits = {memory = \"1GiB\"}, hidden = [\"x\"]}\n",
	"[permissions]\ndeny = [\"Bash(rm *)\", {tool = \"edit\", when = {file_path = \"*.md\"}}]\n",
	"k = \"a # b\" # c\nl = 'x = [1'\n", "[approval]\nyolo_mode = true\n", "'' = 1\n\"\" = 2\n",
}

// Locate finds every key of a document that decodes, and its place is that of
// its name.
func FuzzLocate(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		places, deep := locate(text) // ends, whatever the text
		if deep != nil {
			return
		}
		tree := map[string]any{}
		md, err := toml.Decode(text, &tree)
		if err != nil {
			return
		}
		found := map[string]bool{}
		for name, at := range places {
			found[plain(name)] = true
			if at.line < 1 || at.column < 1 || at.line > strings.Count(text, "\n")+1 {
				t.Errorf("%s is at %d:%d", name, at.line, at.column)
			}
		}
		for _, key := range md.Keys() {
			name := ""
			for _, part := range key {
				name = join(name, part)
			}
			if !found[name] {
				t.Errorf("%s is not found in:\n%s\nonly %v", name, text, places)
			}
		}
	})
}

// plain takes the elements' numbers out of a path.
func plain(name string) string {
	var b strings.Builder
	quoted, skip := false, false
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case quoted && c == '\\':
			b.WriteString(name[i : i+2])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && c == '[':
			skip = true
		case skip && c == ']':
			skip = false
			continue
		}
		if !skip {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

// No text makes the decoder panic, and every complaint has a place.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := parse("f", text)
		if err != nil {
			return
		}
		for _, list := range [][]problem{doc.unknown, doc.invalid, doc.denied} {
			for _, p := range list {
				if p.origin.Line < 1 || p.err == nil {
					t.Errorf("no place: %v in\n%s", p.error(), text)
				}
			}
		}
		for _, s := range doc.settings {
			if s.origin.Line < 1 || len(s.items) != len(asList(s.value)) {
				t.Errorf("no place: %+v in\n%s", s, text)
			}
		}
		// What parses without complaint can be merged and shown; what is
		// wrong with it as a whole is an error, not a panic.
		if len(doc.unknown)+len(doc.invalid)+len(doc.denied) == 0 {
			l := newLayers()
			l.addUser(doc)
			_, _ = l.config()
		}
	})
}

// A project's file is small, but what it nests can be deep: reading it stays
// cheap.
func TestDeepDocuments(t *testing.T) {
	n := maxProjectFile / 4
	for name, text := range map[string]string{
		"lists":         "x = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n",
		"inline tables": "x = " + strings.Repeat("{a=", n/2) + "1" + strings.Repeat("}", n/2) + "\n",
		"dotted":        strings.Repeat("a.", n) + "a = 1\n",
		"header":        "[" + strings.Repeat("a.", n) + "a]\nb = 1\n",
		"tables":        strings.Repeat("[[x]]\n", n/2),
		"rules":         strings.Repeat("[[shell.rules]]\npattern=\"ls\"\n", n/16),
		"hidden":        "sandbox.hidden = [" + strings.Repeat("\"a\",", n/2) + "]\n",
		"one line":      "x = \"" + strings.Repeat("a", n) + "\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			base, _ := load(t, "", "")
			dir := projectDir(t, text)
			start := time.Now()
			_, _, err := base.ForProject(dir)
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %s (%.80v)", d, err)
			}
		})
	}
}
