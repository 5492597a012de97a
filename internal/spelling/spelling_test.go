package spelling

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"allow", "deny", "network", "hidden"}
	for name, want := range map[string]string{
		"alow": "allow", "ALLOW": "allow", "dney": "deny", "netwrk": "network", "netwokr": "network",
		"": "", "frobnicate": "", "den1y2": "deny", "xx": "", "hdn": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"tmeout", "timeout", 1}, {"cwd", "pwd", 1}, {"json", "jsonl", 1}, {"abc", "", 3},
		{"kitten", "sitting", 3}, {"hte", "the", 1},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
