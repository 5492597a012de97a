package house

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Limits of every Go file. exceptionsFile lists where the tree is above them.
const (
	maxFunction = 80  // lines of a function
	maxFile     = 500 // lines of a file
	maxColumns  = 120 // runes of a line, a tab being one
)

// exceptionsFile has one exception a line: kind, object, value. An exception
// may only shrink: HOUSE_UPDATE=1 go test . -run TestStyle writes the values that fell.
const exceptionsFile = "testdata/style-exceptions.txt"

// TestStyle holds the lengths of STYLE: functions, files, columns.
func TestStyle(t *testing.T) {
	got := measureStyle(t)
	listed := readExceptions(t, exceptionsFile)
	if os.Getenv("HOUSE_UPDATE") != "" {
		for key, limit := range listed {
			if listed[key] = min(limit, got[key]); listed[key] == 0 {
				delete(listed, key)
			}
		}
		writeExceptions(t, listed)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if limit, ok := listed[key]; !ok || got[key] > limit {
			t.Errorf("%s: got %d, want at most %d (the limit, or the exception in %s)", key, got[key], limit, exceptionsFile)
		}
	}
	for key := range listed {
		if got[key] == 0 {
			t.Errorf("%s: %q holds the limit now: remove its line", exceptionsFile, key)
		}
	}
}

// measureStyle returns the value of each object that is above its limit. A line with t.Parallel, which most tests begin
// with, does not count.
func measureStyle(t *testing.T) map[string]int {
	t.Helper()
	above := map[string]int{}
	each(t, func(path string) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parallel := []byte("\tt.Parallel()\n")
		if n := bytes.Count(src, []byte("\n")) - bytes.Count(src, parallel); n > maxFile {
			above["file "+path] = n
		}
		if n := longLines(src); n > 0 {
			above["columns "+path] = n
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from, to := fset.Position(fn.Pos()), fset.Position(fn.End())
			n := to.Line - from.Line + 1 - bytes.Count(src[from.Offset:to.Offset], parallel)
			if n > maxFunction {
				above["function "+path+":"+fn.Name.Name] = max(n, above["function "+path+":"+fn.Name.Name])
			}
		}
	})
	return above
}

// TestDocComments wants a doc comment to begin with the identifier below it: one that names another was forgotten when
// that moved.
func TestDocComments(t *testing.T) {
	check := func(path string, doc *ast.CommentGroup, name string) {
		text := strings.TrimSpace(doc.Text())
		for _, article := range []string{"A ", "An ", "The "} {
			text = strings.TrimPrefix(text, article)
		}
		first := strings.FieldsFunc(text, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		if len(first) > 0 && first[0] != name {
			t.Errorf("%s: the comment of %s begins with %.40q", path, name, text)
		}
	}
	each(t, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				check(path, fn.Doc, fn.Name.Name)
			}
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, spec := range g.Specs {
					if len(g.Specs) == 1 {
						check(path, g.Doc, spec.(*ast.TypeSpec).Name.Name)
					}
				}
			}
		}
	})
}

// TestParallelAcceptance has each acceptance test run beside others, or say why it can't, because they mostly wait.
func TestParallelAcceptance(t *testing.T) {
	begins := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\t(.*)`)
	files, err := filepath.Glob("acceptance/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range begins.FindAllStringSubmatch(string(src), -1) {
			if !strings.HasPrefix(m[2], "t.Parallel()") && !strings.HasPrefix(m[2], "wholeMachine(t, ") {
				t.Errorf("%s: %s begins with neither t.Parallel nor wholeMachine", file, m[1])
			}
		}
	}
}

// longLines counts the lines that are too wide, outside of raw text that can't
// be wrapped: a line without a space after its indentation.
func longLines(src []byte) int {
	n := 0
	for line := range bytes.Lines(src) {
		line = bytes.TrimRight(line, "\n")
		if utf8.RuneCount(line) > maxColumns && bytes.ContainsRune(bytes.TrimSpace(line), ' ') {
			n++
		}
	}
	return n
}

func readExceptions(t *testing.T, file string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		at := strings.LastIndexByte(s.Text(), ' ')
		n, err := strconv.Atoi(s.Text()[at+1:])
		if err != nil || at < 0 {
			t.Fatalf("%s: %q: want kind, object and value", file, s.Text())
		}
		listed[s.Text()[:at]] = n
	}
	return listed
}

func writeExceptions(t *testing.T, listed map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		fmt.Fprintf(&b, "%s %d\n", key, listed[key])
	}
	if err := os.WriteFile(exceptionsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	requirementID  = regexp.MustCompile(`\bR-[A-Z]{2}-[0-9]{2}\b`)
	requirementRow = regexp.MustCompile("^\\| (R-[A-Z]{2}-[0-9]{2}) \\| [^|]+ \\| (\\*open\\*|(?:`[^`]+` ?)+) \\|$")
)

// TestRequirements resolves every requirement id of the tree in
// docs/requirements.md, and every proof there in a file that mentions the id.
func TestRequirements(t *testing.T) {
	doc, err := os.ReadFile("docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{} // proof by id
	for line := range strings.Lines(string(doc)) {
		row := requirementRow.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if row == nil {
			if strings.HasPrefix(line, "| R-") {
				t.Errorf("docs/requirements.md: %q is no row: want an id, a text, and files in backquotes or *open*", line)
			}
			continue
		}
		if _, ok := known[row[1]]; ok {
			t.Errorf("docs/requirements.md: %s has two rows", row[1])
		}
		known[row[1]] = row[2]
		for _, file := range strings.Fields(strings.ReplaceAll(row[2], "`", " ")) {
			if file == "*open*" {
				continue
			}
			if b, err := os.ReadFile(file); err != nil || !bytes.Contains(b, []byte(row[1])) {
				t.Errorf("docs/requirements.md: %s names %s, which does not mention it (%v)", row[1], file, err)
			}
		}
	}
	each(t, func(path string) {
		b, err := os.ReadFile(path)
		if err != nil || path == filepath.Join("docs", "requirements.md") || path == "house_style_test.go" {
			return
		}
		for _, id := range slices.Compact(requirementID.FindAllString(string(b), -1)) {
			proof, ok := known[id]
			if !ok {
				t.Errorf("%s mentions %s, which docs/requirements.md does not have", path, id)
			}
			if proof == "*open*" && strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s proves %s, which docs/requirements.md calls open", path, id)
			}
		}
	})
}

// Each file of acceptance/ belongs to one topic of its package comment, and no topic is without a file.
func TestTopicsOfAcceptance(t *testing.T) {
	doc, err := os.ReadFile("acceptance/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	_, table, _ := strings.Cut(string(doc), "by their first words:")
	for line := range strings.Lines(table) {
		if row, ok := strings.CutPrefix(line, "//\t"); ok && len(row) > 20 {
			for topic := range strings.SplitSeq(row[20:], ",") {
				if topic = strings.TrimSpace(topic); topic != "" {
					files[topic] = 0
				}
			}
		}
	}
	names, err := filepath.Glob("acceptance/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		stem, ok := strings.CutSuffix(filepath.Base(name), "_linux_test.go")
		topic, _, _ := strings.Cut(stem, "_")
		if _, known := files[topic]; !ok && name != "acceptance/doc.go" || ok && !known {
			t.Errorf("%s: want TOPIC_linux_test.go, with a topic of acceptance/doc.go", name)
		}
		files[topic]++
	}
	for topic, n := range files {
		if n == 0 {
			t.Errorf("acceptance/doc.go: %q has no file", topic)
		}
	}
}
