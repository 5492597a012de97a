package analysis

import (
	"fmt"
	"strings"

	"sandboxd/pattern"
)

// Pattern parses a word pattern, a command in shell syntax. See [pattern.NewWords]. It returns an
// error if text is more than the words of one command.
func Pattern(text string, more bool) (pattern.Words, error) {
	args, err := Words(text)
	if err != nil {
		return pattern.Words{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	for _, a := range args {
		if a.Kind != Literal && a.Kind != Glob {
			return pattern.Words{}, fmt.Errorf("pattern %q: the word %q is not literal", text, a.Source)
		}
	}
	return pattern.NewWords(text, Plain(args), more)
}

// Plain returns words as package pattern matches them.
func Plain(args []Word) []pattern.Word {
	out := make([]pattern.Word, len(args))
	for i, a := range args {
		out[i].Text = a.Text
		switch {
		case a.Kind == Literal:
			out[i].Kind = pattern.Literal
		case a.Known():
			out[i].Kind = pattern.Known
		case a.Kind == Glob:
			out[i].Kind = pattern.Glob
		}
	}
	return out
}

// PathPattern translates a glob, as [Word.Text] has it, to a path pattern: [!a] to [^a], and a set
// with a character class to ?, because the members of a class depend on the locale.
func PathPattern(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch {
		case glob[i] == '\\' && i+1 < len(glob):
			b.WriteString(glob[i : i+2])
			i++
		case glob[i] == '[':
			end, plain := bracketEnd(glob, i)
			switch {
			case end < 0:
				return b.String() + glob[i:]
			case !plain:
				b.WriteByte('?')
			case glob[i+1] == '!':
				b.WriteString("[^" + glob[i+2:end])
			default:
				b.WriteString(glob[i:end])
			}
			i = end - 1
		default:
			b.WriteByte(glob[i])
		}
	}
	return b.String()
}
