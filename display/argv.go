package display

import "strings"

// Argv joins the words of a command as a shell would parse them again. It puts every word that
// is not plainly literal in single quotes. The caller must still neutralise the result.
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
