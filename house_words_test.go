package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
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
)

// dialect lists phrases that STYLE replaces, for comments, messages and
// documents. A phrase is here if a technical word exists for each of its uses:
// created for the first, reported for the second, entry for the third.
var dialect = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	`laid|lays|laying|lain`,
	`told|tells`,
	`lies|stands|stood`,
	`whoever|who asks|who looks|who waits|who answers`,
	`what (lies|stands|is told|is there|comes|goes|asks|waits)`,
	`(a|the|each|every|one|last|first|second|next|another) looks?`,
	`(go|goes|went|going|gone) on`,
	`(have|has) gone|anew|for ever|all the same|any more`,
	`is of an?|sees? to|seen to|takes? down|put on record`,
	`outlets?|doors|desk`,
}, `|`) + `)\b`)

// dialectNames lists words that no declared name is made of.
var dialectNames = []string{
	"anew", "anywhere", "desk", "door", "doors", "elsewhere", "existences", "gone", "laid", "lies", "looker", "office",
	"outlet", "stands", "surroundings", "told", "usual", "whoever",
}

// TestWords keeps the private words that STYLE lists out of the tree. Names,
// comments and strings of Go files count, and the whole of a document.
func TestWords(t *testing.T) {
	finds := map[string][]string{}
	each(t, func(path string) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		room := filepath.Dir(path)
		switch ext := filepath.Ext(path); {
		case path == "house_words_test.go":
		case ext == ".go":
			finds["words "+room] = append(finds["words "+room], goWords(path, src)...)
			finds["names "+room] = append(finds["names "+room], goNames(t, path, src)...)
		case slices.Contains([]string{".md", ".c", ".h", ".py", ".ts", ".js", ".html", ".sh", ".yaml", ".8", ".1"}, ext):
			finds["words "+path] = wordsOf(path, 1, string(src))
		}
	})
	for _, key := range slices.Sorted(maps.Keys(finds)) {
		if len(finds[key]) > 0 {
			t.Errorf("%s: got %d private words, want none; see STYLE:\n%s", key, len(finds[key]), strings.Join(finds[key], "\n"))
		}
	}
}

// goWords returns the finds in the comments of a Go file and in its strings of
// several words.
func goWords(path string, src []byte) []string {
	var finds []string
	fset := token.NewFileSet()
	file := fset.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return finds
		case token.COMMENT:
			finds = append(finds, wordsOf(path, file.Line(pos), lit)...)
		case token.STRING:
			if text, err := strconv.Unquote(lit); err == nil && strings.Contains(text, " ") {
				finds = append(finds, wordsOf(path, file.Line(pos), text)...)
			}
		}
	}
}

func wordsOf(path string, line int, text string) []string {
	var finds []string
	for l := range strings.Lines(text) {
		for _, find := range dialect.FindAllString(l, -1) {
			finds = append(finds, fmt.Sprintf("%s:%d: %q in %.60q", path, line, find, strings.TrimSpace(l)))
		}
		line++
	}
	return finds
}

// goNames returns the declared names that contain a word of dialectNames.
func goNames(t *testing.T, path string, src []byte) []string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var finds []string
	check := func(names ...*ast.Ident) {
		for _, name := range names {
			for _, word := range camelWords(name.Name) {
				if slices.Contains(dialectNames, word) {
					finds = append(finds, fmt.Sprintf("%s: %s", fset.Position(name.Pos()), name.Name))
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Name)
		case *ast.TypeSpec:
			check(n.Name)
		case *ast.ValueSpec:
			check(n.Names...)
		case *ast.Field:
			check(n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					check(name)
				}
			}
		}
		return true
	})
	return finds
}

// camelWords splits a Go name into its words, in lower case.
func camelWords(name string) []string {
	spaced := strings.Map(func(r rune) rune {
		if r == '_' {
			return ' '
		}
		return r
	}, name)
	var b strings.Builder
	for _, r := range spaced {
		if unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
