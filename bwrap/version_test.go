package bwrap

import "testing"

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		output string
		want   Version
		bad    bool
	}{
		{output: "bubblewrap 0.8.0\n", want: Version{0, 8, 0}},
		{output: "0.11", want: Version{0, 11, 0}},
		{output: "bubblewrap 0.6.1-1ubuntu0.1\n", want: Version{0, 6, 1}},
		{output: "bubblewrap 1.2.3+git", want: Version{1, 2, 3}},
		{output: "", bad: true},
		{output: "bubblewrap", bad: true},
		{output: "bubblewrap 8", bad: true},
		{output: "bubblewrap 1.2.3.4", bad: true},
		{output: "bubblewrap 1..2", bad: true},
		{output: "bubblewrap 99999999999999999999.1", bad: true},
		{output: "bwrap: command not found", bad: true},
	} {
		got, err := ParseVersion(c.output)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("ParseVersion(%q) = %v, %v", c.output, got, err)
		}
	}
}

func TestVersionLess(t *testing.T) {
	ordered := []Version{{}, {0, 5, 0}, {0, 5, 1}, {0, 12, 0}, {1, 0, 0}}
	for i, v := range ordered {
		for j, w := range ordered {
			if v.Less(w) != (i < j) {
				t.Errorf("%v.Less(%v) = %v", v, w, v.Less(w))
			}
		}
	}
}
