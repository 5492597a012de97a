package ask

import (
	"slices"
	"strings"
)

// syntax describes a language to lexCode. The zero value has no colours.
type syntax struct {
	comment string    // begins a comment that ends with its line
	block   [2]string // begin and end a comment of several lines
	quotes  string    // characters that delimit a text on one line
	long    []string  // delimiters of a text of several lines
	words   bool      // it has the keywords
}

var (
	braces = syntax{comment: "//", block: [2]string{"/*", "*/"}, quotes: `"'`, long: []string{"`"}, words: true}
	hashes = syntax{comment: "#", quotes: `"'`, words: true}
	dashes = syntax{comment: "--", quotes: `"'`, words: true}
	tags   = syntax{block: [2]string{"<!--", "-->"}}
)

// syntaxes are by the names that file_content has for languages.
var syntaxes = byName(map[string]syntax{
	"go javascript jsx typescript tsx rust c cpp java kotlin php swift csharp scala zig protobuf": braces,
	"ruby perl r julia elixir nix hcl powershell fish makefile dockerfile cmake just yaml toml":   hashes,
	"sql lua haskell":       dashes,
	"html xml vue markdown": tags,
	"css":                   {block: braces.block, quotes: `"'`},
	"scss":                  {comment: "//", block: braces.block, quotes: `"'`},
	"python":                {comment: "#", quotes: `"'`, long: []string{`"""`, "'''"}, words: true},
	"json":                  {quotes: `"`, words: true},
	"latex":                 {comment: "%"},
	"erlang":                {comment: "%", quotes: `"`, words: true},
})

// byName has each of the names of a key.
func byName(list map[string]syntax) map[string]syntax {
	out := map[string]syntax{}
	for names, x := range list {
		for _, name := range strings.Fields(names) {
			out[name] = x
		}
	}
	return out
}

// keywords are those of all languages together: the colours guide the eye, and decide nothing.
var keywords = strings.Fields(`
abstract and as async await begin break case catch class const continue def default defer del do
elif else elsif end enum except export extends extern false False final finally fn for foreach from
fun func function global go goto if impl implements import in include inline instanceof interface is
lambda let local loop map match mod module mut namespace new nil none None not null or override
package pass private protected pub public raise range require rescue return select self static
struct super switch then this throw throws trait true True try type typedef undef union unless until
use using var void volatile when where while with yield SELECT FROM WHERE INSERT INTO UPDATE DELETE
CREATE TABLE DROP ALTER VALUES SET JOIN ON AND OR NOT NULL PRIMARY KEY RUN COPY ENV WORKDIR CMD
ENTRYPOINT EXPOSE USER ARG ADD`)

// lexCode gives every byte of a file's text a colour.
func lexCode(s, language string) []string {
	if language == "bash" || language == "zsh" {
		return lex(s)
	}
	out := make([]string, len(s))
	x := syntaxes[language]
	for i := 0; i < len(s); {
		color, end := x.token(s, i)
		for ; i < end; i++ {
			out[i] = color
		}
	}
	return out
}

// token is the colour of the token that begins at i, and its end.
func (x syntax) token(s string, i int) (color string, end int) {
	rest := s[i:]
	until := func(from int, delimiter string) int {
		if n := strings.Index(rest[from:], delimiter); n >= 0 {
			return i + from + n + len(delimiter)
		}
		return len(s)
	}
	switch {
	case x.block[0] != "" && strings.HasPrefix(rest, x.block[0]):
		return gray, until(len(x.block[0]), x.block[1])
	case x.comment != "" && strings.HasPrefix(rest, x.comment) &&
		(x.comment != "#" || i == 0 || strings.IndexByte(" \t\n", s[i-1]) >= 0):
		line, _, _ := strings.Cut(rest, "\n")
		return gray, i + len(line)
	}
	for _, q := range x.long {
		if strings.HasPrefix(rest, q) {
			return yellow, until(len(q), q)
		}
	}
	if strings.IndexByte(x.quotes, rest[0]) >= 0 {
		if n := closed(rest); n > 0 {
			return yellow, i + n
		}
		return "", i + 1
	}
	n := 0
	for n < len(rest) && letter(rest[n]) {
		n++
	}
	if n == 0 {
		return "", i + 1
	}
	if x.words && slices.Contains(keywords, rest[:n]) {
		return magenta, i + n
	}
	return "", i + n
}

// closed is the length of the text that s begins with, quotes included; 0 where it does not end
// on its line, as an apostrophe.
func closed(s string) int {
	for i := 1; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
