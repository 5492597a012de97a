package document

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as "10m" or "1h30m".
type Duration time.Duration

// UnmarshalText reads the format of time.ParseDuration, without a sign.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("duration %q: write for example \"90s\", \"10m\" or \"1h30m\"", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the input of UnmarshalText.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Size is a number of bytes, written as a number or as "512MiB", "4GiB",
// "100kB".
type Size int64

var units = []struct {
	suffix string
	factor int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40},
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	number, factor := string(text), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<63-1)/factor {
		return fmt.Errorf("size %q: write for example 4096, \"512MiB\" or \"4GiB\"", text)
	}
	*s = Size(n * factor)
	return nil
}

// MarshalText writes the input of UnmarshalText, in the largest unit that divides it.
func (s Size) MarshalText() ([]byte, error) {
	n, suffix := int64(s), ""
	for _, u := range units[:4] {
		if n != 0 && int64(s)%u.factor == 0 {
			n, suffix = int64(s)/u.factor, u.suffix
		}
	}
	return []byte(strconv.FormatInt(n, 10) + suffix), nil
}
