package bwrap

import (
	"fmt"
	"strconv"
	"strings"
)

// A Version is a bubblewrap release, as `bwrap --version` prints it. The zero
// value is "unknown" and is refused by [Compile].
type Version struct {
	Major, Minor, Patch int
}

// Oldest is the first release that has every option without which a profile
// cannot be mounted at all: --perms, --chmod and --clearenv came with 0.5.0.
var Oldest = Version{0, 5, 0}

// sizeSince is the first release with --size for a tmpfs.
var sizeSince = Version{0, 7, 0}

// ParseVersion reads the output of `bwrap --version`, for instance
// "bubblewrap 0.8.0\n". A distribution's suffix ("0.8.0-2+deb12u1") is ignored:
// a distribution's backports are not assumed.
func ParseVersion(output string) (Version, error) {
	word := strings.TrimSpace(output)
	word = strings.TrimSpace(strings.TrimPrefix(word, "bubblewrap"))
	if end := strings.IndexFunc(word, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		word = word[:end]
	}
	parts := strings.Split(word, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("parse bwrap version %q: want MAJOR.MINOR.PATCH", output)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return Version{}, fmt.Errorf("parse bwrap version %q: %q is not a number", output, part)
		}
		numbers[i] = n
	}
	return Version{numbers[0], numbers[1], numbers[2]}, nil
}

// Less reports whether v was released before w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}
