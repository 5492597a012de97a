package approval_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/approval"
)

// TestPattern: what a pattern covers (R-AP-07, R-SH-05, R-SH-06). Patterns are
// closed: what they do not speak of is not covered.
func TestPattern(t *testing.T) {
	type m = map[string]any
	type l = []any
	of := func(free []string, where ...approval.Condition) approval.Pattern {
		return approval.Pattern{Tool: "bash", Where: where, Free: free}
	}
	diff := of([]string{"timeout"}, approval.Prefix("argv", "git", "diff"))
	src := of(nil, approval.Equal("program", "cat"), approval.Under("paths", "/p/src"))
	here := of(nil, approval.Under("path", "."))
	for _, c := range []struct {
		name    string
		p       approval.Pattern
		payload m
		want    bool
	}{
		{"prefix", diff, m{"argv": l{"git", "diff", "HEAD"}}, true},
		{"prefix, typed", diff, m{"argv": []string{"git", "diff"}}, true},
		{"prefix, nothing more", diff, m{"argv": l{"git", "diff"}}, true},
		{"prefix, a longer word", diff, m{"argv": l{"git", "difftool"}}, false},
		{"prefix, another", diff, m{"argv": l{"git", "push"}}, false},
		{"prefix, shorter", diff, m{"argv": l{"git"}}, false},
		{"prefix, a text is no list", diff, m{"argv": "git diff"}, false},
		{"prefix, not all words", diff, m{"argv": l{"git", "diff", 1}}, false},
		{"prefix, every command", diff, m{"argv": l{l{"git", "diff"}, l{"git", "diff", "x"}}}, true},
		{"prefix, one of them is another", diff, m{"argv": l{l{"git", "diff"}, l{"rm", "x"}}}, false},
		{"prefix, none", diff, m{"argv": l{}}, false},
		{"free key", diff, m{"argv": l{"git", "diff"}, "timeout": 5}, true},
		{"unknown key", diff, m{"argv": l{"git", "diff"}, "env": m{"GIT_EXTERNAL_DIFF": "x"}}, false},
		{"missing key", diff, m{"timeout": 5}, false},
		{"under", src, m{"program": "cat", "paths": l{"/p/src/a", "/p/src/b/c"}}, true},
		{"under, the folder", src, m{"program": "cat", "paths": l{"/p/src"}}, true},
		{"under, one elsewhere", src, m{"program": "cat", "paths": l{"/p/src/a", "/etc/passwd"}}, false},
		{"under, look-alike", src, m{"program": "cat", "paths": l{"/p/src2/a"}}, false},
		{"under, climbing", src, m{"program": "cat", "paths": l{"/p/src/../../etc/passwd"}}, false},
		{"under, not clean", src, m{"program": "cat", "paths": l{"/p/src//a"}}, false},
		{"under, none", src, m{"program": "cat", "paths": l{}}, false},
		{"under, empty", src, m{"program": "cat", "paths": l{""}}, false},
		{"under, another program", src, m{"program": "rm", "paths": l{"/p/src/a"}}, false},
		{"here", here, m{"path": "a/b"}, true},
		{"here, itself", here, m{"path": "."}, true},
		{"here, absolute", here, m{"path": "/a"}, false},
		{"here, up", here, m{"path": ".."}, false},
		{"here, up and away", here, m{"path": "../x"}, false},
		{"any", approval.Pattern{Tool: "bash", Any: true}, m{"x": 1}, true},
		{"any, another tool", approval.Pattern{Tool: "write", Any: true}, m{"x": 1}, false},
		{"nothing said", approval.Pattern{Tool: "bash"}, m{}, false},
		{"unknown comparison", of(nil, approval.Condition{Key: "x", Op: "like"}), m{"x": 1}, false},
		{"equal", of(nil, approval.Equal("x", m{"a": 1})), m{"x": m{"a": 1.0}}, true},
		{"equal, not", of(nil, approval.Equal("x", m{"a": 1})), m{"x": m{"a": 2}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.p.Matches("bash", c.payload); got != c.want {
				t.Errorf("%s covers %v: %t, want %t", c.p, c.payload, got, c.want)
			}
			data, err := json.Marshal(c.p)
			if err != nil {
				t.Fatal(err)
			}
			var again approval.Pattern
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
			if got := again.Matches("bash", c.payload); got != c.want {
				t.Errorf("written and read, it covers %v: %t, want %t", c.payload, got, c.want)
			}
		})
	}
}

// TestPatternClosed: adding a key that a pattern does not know never makes it
// match, and a pattern that matches matches no payload of another tool.
func TestPatternClosed(t *testing.T) {
	keys := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		p := approval.Pattern{Tool: "bash", Free: rapid.SliceOfN(keys, 0, 2).Draw(t, "free")}
		for range rapid.IntRange(1, 2).Draw(t, "conditions") {
			p.Where = append(p.Where, approval.Equal(keys.Draw(t, "key"), rapid.IntRange(0, 1).Draw(t, "value")))
		}
		payload := map[string]any{}
		for k, v := range rapid.MapOf(keys, rapid.IntRange(0, 1)).Draw(t, "payload") {
			payload[k] = v
		}
		before := p.Matches("bash", payload)
		if p.Matches("write", payload) {
			t.Fatal("it matches another tool")
		}
		payload["new"] = 1
		if p.Matches("bash", payload) {
			t.Fatalf("%s covers %v (before: %t)", p, payload, before)
		}
	})
}
