package house

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateSpecifications = flag.Bool("specifications", false, "write docs/specifications.md from the tests")

// specification is a text that the product is built for.
type specification struct {
	id, title string
	rows      int
	complete  bool // every row of it has a test
}

var specifications = []specification{
	{"000", "Tool approval in three layers", 63, true},
	{"001", "Permission manager", 86, true},
	{"002", "Chat proxy", 31, true},
	{"003", "Web tool approval", 41, true},
	{"004", "Terminal dialog", 45, true},
	{"card", "Design card", 13, true},
}

// specRow is one item of a specification, written in a comment of the test that proves it:
//
//	//   - Row 000-11 yes (modes/strict): a request is denied in strict mode
//	//   - Row 000-13 different: mode="approve_all" is given to the constructor | only a person
//	//     switches it on, for a time (R-AP-18)
//
// The comment is the test's own or inside its body. The name in parentheses is the
// subtest. A state other than yes has its reason after " | ". A further test that the row needs
// names the row alone:
//
//	//   - Row 000-11 also (modes)
type specRow struct {
	spec                string
	number              int
	state, text, reason string
	file, test, subtest string
	also                []specRow // further tests
	at                  token.Position
}

// evidence is where the row's test is found.
func (r specRow) evidence() string {
	test := r.test
	if r.subtest != "" {
		test += "/" + r.subtest
	}
	return fmt.Sprintf("`%s` in %s", test, filepath.Dir(r.file))
}

var rowStart = regexp.MustCompile(`^Row \S+-\d`)

var rowLine = regexp.MustCompile(`^Row (\d{3}|card)-(\d+) (\S+)(?: \(([^()]+)\))?(?:: (.+))?$`)

// TestSpecifications compares docs/specifications.md with the rows in the comments of the tests:
// each row names a test that exists, and no row of a complete specification is missing.
// go test . -run TestSpecifications -specifications writes the document.
func TestSpecifications(t *testing.T) {
	rows, names := readRows(t)
	byID := map[string]specRow{}
	for _, r := range rows {
		id := fmt.Sprintf("%s-%02d", r.spec, r.number)
		if other, twice := byID[id]; twice {
			t.Errorf("%s: row %s is in %s, too", r.at, id, other.at)
		}
		byID[id] = r
		r.check(t, names)
	}
	for _, s := range specifications {
		for i := 1; s.complete && i <= s.rows; i++ {
			if id := fmt.Sprintf("%s-%02d", s.id, i); byID[id].test == "" {
				t.Errorf("row %s has no test: write it in the comment of the test that proves it", id)
			}
		}
	}
	const file = "docs/specifications.md"
	want := renderRows(rows)
	if *updateSpecifications {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not what the tests say (%v): go test . -run TestSpecifications -specifications", file, err)
	}
}

// check reports what makes a row no evidence.
func (r specRow) check(t *testing.T, names map[string]bool) {
	known := slices.IndexFunc(specifications, func(s specification) bool { return s.id == r.spec })
	switch {
	case known < 0 || r.number < 1 || r.number > specifications[known].rows:
		t.Errorf("%s: no specification has a row %s-%02d", r.at, r.spec, r.number)
	case r.state != "yes" && r.state != "different" && r.state != "partly":
		t.Errorf("%s: state %q; there are yes, different and partly", r.at, r.state)
	case (r.state == "yes") != (r.reason == ""):
		t.Errorf("%s: a row that is %s: reason %q (after \" | \")", r.at, r.state, r.reason)
	}
	for _, e := range append([]specRow{r}, r.also...) {
		if e.test == "" {
			t.Errorf("%s: the row belongs to no test", e.at)
		}
		if e.subtest != "" && !names[e.subtest] {
			t.Errorf("%s: %s has no subtest %q: no literal and no script of the name", e.at, e.test, e.subtest)
		}
	}
}

// readRows returns the rows of all tests, and the names that subtests can have.
func readRows(t *testing.T) (rows []specRow, names map[string]bool) {
	names = map[string]bool{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != ".":
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			names[strings.TrimSuffix(e.Name(), ".txtar")] = true
		case strings.HasSuffix(path, ".txt") && filepath.Base(filepath.Dir(path)) == "script":
			names[strings.TrimSuffix(e.Name(), ".txt")] = true
		case strings.HasSuffix(path, ".go"):
			found, err := rowsOf(path, names)
			rows = append(rows, found...)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	order := func(s string) int { return strings.Index("000 001 002 003 004 card", s) }
	further := func(r specRow) int {
		if r.state == "also" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b specRow) int {
		return cmp.Or(
			cmp.Compare(order(a.spec), order(b.spec)),
			cmp.Compare(a.number, b.number),
			cmp.Compare(further(a), further(b)),
		)
	})
	return joinRows(t, rows), names
}

// joinRows adds the further tests of a row to it; they follow it in rows.
func joinRows(t *testing.T, rows []specRow) (joined []specRow) {
	for _, r := range rows {
		last := len(joined) - 1
		switch {
		case r.state != "also":
			joined = append(joined, r)
		case last < 0 || joined[last].spec != r.spec || joined[last].number != r.number:
			t.Errorf("%s: a further test of row %s-%02d, which has no first", r.at, r.spec, r.number)
		default:
			joined[last].also = append(joined[last].also, r)
		}
	}
	return joined
}

// rowsOf reads one file; its string literals go to names.
func rowsOf(path string, names map[string]bool) (rows []specRow, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && len(s) < 80 {
				names[s] = true
			}
		}
		return true
	})
	if !strings.HasSuffix(path, "_test.go") || path == "specifications_test.go" {
		return nil, nil
	}
	for _, group := range f.Comments {
		for _, text := range rowTexts(group) {
			r := specRow{file: path, test: testAround(f, group), at: set.Position(group.Pos())}
			m := rowLine.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("%s: %q is not \"Row NNN-N state (subtest): text | reason\"", r.at, text)
			}
			r.spec, r.state, r.subtest = m[1], m[3], m[4]
			if (r.state == "also") != (m[5] == "") {
				return nil, fmt.Errorf("%s: %q: a row has a text, unless its state is also", r.at, text)
			}
			r.number, _ = strconv.Atoi(m[2])
			r.text, r.reason, _ = strings.Cut(m[5], " | ")
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// rowTexts joins the lines of each row in a comment.
func rowTexts(group *ast.CommentGroup) (texts []string) {
	open := false
	for _, c := range group.List {
		line, ok := strings.CutPrefix(c.Text, "//")
		item := strings.TrimPrefix(strings.TrimSpace(line), "- ")
		switch {
		case ok && rowStart.MatchString(item):
			texts, open = append(texts, item), true
		case ok && open && strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "    -"):
			texts[len(texts)-1] += " " + item
		default:
			open = false
		}
	}
	return texts
}

// testAround is the test that a comment belongs to.
func testAround(f *ast.File, group *ast.CommentGroup) string {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") &&
			(fn.Doc == group || fn.Pos() <= group.Pos() && group.End() <= fn.End()) {
			return fn.Name.Name
		}
	}
	return ""
}

func renderRows(rows []specRow) []byte {
	var b bytes.Buffer
	b.WriteString(`# The specifications, row by row

Five specifications and a design card are what this product is built for. Each row is one item of one of them, with its
state and the test that proves it. *Different* and *partly* have their reason.

The rows stand in the comments of the tests; this file is written from them:
` + "`go test . -run TestSpecifications -specifications`" + `.

| specification | rows | yes | different | partly |
|---|---|---|---|---|
`)
	for _, s := range specifications {
		count := map[string]int{}
		for _, r := range rows {
			if r.spec == s.id {
				count[r.state]++
			}
		}
		total := 0
		for n := range maps.Values(count) {
			total += n
		}
		fmt.Fprintf(&b, "| %s %s | %d | %d | %d | %d |\n",
			s.id, s.title, total, count["yes"], count["different"], count["partly"])
	}
	for _, s := range specifications {
		fmt.Fprintf(&b, "\n## %s %s\n\n| row | item | state | test |\n|---|---|---|---|\n", s.id, s.title)
		for _, r := range rows {
			if r.spec != s.id {
				continue
			}
			state, tests := r.state, r.evidence()
			if r.reason != "" {
				state += ": " + r.reason
			}
			for _, further := range r.also {
				tests += ", " + further.evidence()
			}
			fmt.Fprintf(&b, "| %s-%02d | %s | %s | %s |\n", r.spec, r.number, cell(r.text), cell(state), tests)
		}
	}
	return b.Bytes()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
