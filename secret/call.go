package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// Words is Mask for the words of a command that no shell reads.
func Words(argv []string) []string {
	var out []string
	for i := range argv {
		masked := maskWord(argv, i)
		if masked != argv[i] && out == nil {
			out = slices.Clone(argv)
		}
		if out != nil {
			out[i] = masked
		}
	}
	if out == nil {
		return argv
	}
	return out
}

// maskWord masks one word by its text and by the words before it.
func maskWord(argv []string, i int) string {
	word := argv[i]
	if masked := Mask(word); masked != word || i == 0 || strings.ContainsAny(word, unsafe) {
		return masked
	}
	before := strings.Join(slices.DeleteFunc(slices.Clone(argv[max(0, i-8):i]), func(w string) bool {
		return strings.ContainsAny(w, " \t\n\"'")
	}), " ")
	line := before + " " + word
	for _, s := range findAll(line) {
		if from := s.From - len(before) - 1; from >= 0 && s.To == len(line) {
			return word[:from] + masks(word[from:])
		}
	}
	return word
}

// Key reads the key of digests from a file that only its owner can read, and makes one where there
// is none; without a file the key is of this process alone.
func Key(file string) ([]byte, error) {
	var key []byte
	err := fs.ErrNotExist
	if file != "" {
		key, err = os.ReadFile(file)
	}
	if err == nil && len(key) == sha256.Size {
		return key, nil
	}
	if err == nil {
		err = fmt.Errorf("%s: %d bytes instead of %d", file, len(key), sha256.Size)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the key of digests: %w; move it away, and another is made: the digests of variables "+
			"in later records can't be compared with those of earlier ones then", err)
	}
	key = make([]byte, sha256.Size)
	rand.Read(key) // never fails
	if file == "" {
		return key, nil
	}
	if err := renameio.WriteFile(file, key, 0o600); err != nil {
		return nil, fmt.Errorf("write the key of digests: %w", err)
	}
	return key, nil
}

// Masker writes a call's arguments for records. The zero value has no key.
type Masker struct {
	// Key makes the digests of values: equal values have equal digests, and none can be found by
	// trying words without it.
	Key []byte
}

// digestPrefix begins the digest of a variable's value.
const digestPrefix = "hmac-sha256:"

// digest returns a keyed digest of a variable's value.
func (m Masker) digest(value string) string {
	h := hmac.New(sha256.New, m.Key)
	h.Write([]byte(value))
	return digestPrefix + hex.EncodeToString(h.Sum(nil)[:8])
}

// Recorded is a call's arguments as records have them: variables by name and
// digest, all else masked.
func (m Masker) Recorded(args map[string]any) map[string]any {
	return walk(args, func(_, value string) string { return m.digest(value) })
}

// Shown returns a call's arguments for questions: variables that look like secrets are masked.
func Shown(args map[string]any) map[string]any {
	return walk(args, func(name, value string) string {
		if Name(name) && maskable(value) || Value(value) && Mask(value) == value {
			return masks(value)
		}
		return Mask(value)
	})
}

func walk(args map[string]any, variable func(name, value string) string) map[string]any {
	out := make(map[string]any, len(args))
	for key, value := range args {
		switch v := value.(type) {
		case map[string]any:
			if environment(key) {
				env := make(map[string]any, len(v))
				for name, value := range v {
					if text, ok := value.(string); ok {
						env[name] = variable(name, text)
					} else {
						env[name] = variable(name, fmt.Sprint(value))
					}
				}
				out[key] = env
				continue
			}
			out[key] = walk(v, variable)
		case string:
			if masked := Mask(v); masked != v || !optionNames(key) || !maskable(v) {
				out[key] = masked
			} else {
				out[key] = masks(v)
			}
		default:
			out[key] = list(value, variable)
		}
	}
	return out
}

// environment reports whether a member of a call's arguments holds variables.
func environment(key string) bool {
	switch strings.ToLower(key) {
	case "env", "environment", "envs", "env_vars", "variables":
		return true
	}
	return false
}

// list masks a list of words, of lists of words, or of anything else.
func list(value any, variable func(name, value string) string) any {
	switch v := value.(type) {
	case []string:
		return Words(v)
	case [][]string:
		out := make([][]string, len(v))
		for i := range v {
			out[i] = Words(v[i])
		}
		return out
	case map[string]any:
		return walk(v, variable)
	case []any:
		words := make([]string, 0, len(v))
		for _, w := range v {
			if text, ok := w.(string); ok {
				words = append(words, text)
			}
		}
		out := make([]any, len(v))
		if len(words) == len(v) {
			for i, w := range Words(words) {
				out[i] = w
			}
			return out
		}
		for i, w := range v {
			if text, ok := w.(string); ok {
				out[i] = Mask(text)
			} else {
				out[i] = list(w, variable)
			}
		}
		return out
	}
	return value
}
