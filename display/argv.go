package display

import "strings"

// Argv writes the words of a command as a shell would read them again: words
// that are not plainly literal stand in single quotes. The result still has to
// be neutralised.
func Argv(argv []string) string {
	var b strings.Builder
	for i, word := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(word))
	}
	return b.String()
}

const literal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"

func quote(word string) string {
	if word != "" && strings.Trim(word, literal) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
