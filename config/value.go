package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span, written as "90s", "10m" or "1h30m". 0 usually means no limit; see
// the field's comment.
type Duration time.Duration

// UnmarshalText parses Go's notation. It refuses a bare number because its unit is unclear.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a time span such as \"90s\" or \"10m\"", text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText returns the notation of UnmarshalText.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size is a number of bytes, written as a number or as "512MiB", "10MB", "1GiB". 0 means no
// limit.
type Size int64

var sizeUnits = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// UnmarshalTOML parses a number of bytes or a text with a unit.
func (s *Size) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return fmt.Errorf("%d is negative", v)
		}
		*s = Size(v)
		return nil
	case string:
		n, err := parseSize(v)
		*s = n
		return err
	}
	return fmt.Errorf("a size is a number of bytes or a string such as \"512MiB\", got %s", typeName(v))
}

func parseSize(text string) (Size, error) {
	digits, factor := strings.TrimSpace(text), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size such as \"512MiB\" or \"10MB\"", text)
	}
	return Size(n * factor), nil
}

// MarshalText returns the size in the largest binary unit that divides it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	for i := 3; i >= 0; i-- {
		if u := sizeUnits[i]; s != 0 && int64(s)%u.factor == 0 {
			return strconv.FormatInt(int64(s)/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Require lists the protections that the OS sandbox must provide for a command to run. The zero
// value requires none.
type Require struct {
	// All is true if every protection is required.
	All bool
	// Protections are the required protections if All is false, by the names that `sbx doctor`
	// prints.
	Protections []string
}

// UnmarshalTOML parses true, false, or a list of protections.
func (r *Require) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case bool:
		*r = Require{All: v}
		return nil
	case []any:
		out := Require{}
		for _, e := range v {
			s, ok := e.(string)
			if !ok || s == "" {
				return errors.New("a list of protections holds their names")
			}
			out.Protections = append(out.Protections, s)
		}
		*r = out
		return nil
	}
	return fmt.Errorf("true, false or a list of protections, got %s", typeName(v))
}

// MarshalTOML returns the notation of UnmarshalTOML.
func (r Require) MarshalTOML() ([]byte, error) {
	if len(r.Protections) == 0 {
		return strconv.AppendBool(nil, r.All), nil
	}
	quoted := make([]string, len(r.Protections))
	for i, p := range r.Protections {
		quoted[i] = strconv.Quote(p)
	}
	return []byte("[" + strings.Join(quoted, ", ") + "]"), nil
}

// requires reports whether the protection of that name is required.
func (r Require) requires(protection string) bool {
	if r.All {
		return true
	}
	for _, p := range r.Protections {
		if p == protection {
			return true
		}
	}
	return false
}

// typeName returns the name of the TOML type of a decoded value, for errors.
func typeName(v any) string {
	switch v.(type) {
	case bool:
		return "a boolean"
	case int64:
		return "a number"
	case float64:
		return "a fraction"
	case string:
		return "a string"
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	case []map[string]any:
		return "a list of tables"
	}
	return "a date"
}
