package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// What a person sees of each kind of presentation, on the screen with the real daemon behind
// it. R-UX-02 R-UX-05
//
//   - Row 000-29 yes (kind diff): diff rendered red and green in a box
//   - Row 000-32 yes (kind structured): structured rendered as JSON
//   - Row 000-33 yes (kind text): text as it is
//   - Row 000-34 yes (kind cut): cut at 50 lines, with the number of lines that are left out
//   - Row 000-35 yes (kind text): binary shows type and size only
func TestScreenPresentations(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, "line = %d\n", i+1)
	}
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 2300)))
	h := furnished(t, slow)
	d := h.sit(110, 100, "")
	for _, c := range []struct {
		name       string
		call       ipc.BatchCall
		want, lack []string // expressions for the screen with its colours
	}{
		{"kind diff", diff, []string{`\x1b\[31m-`, `\x1b\[32m\+`, `┌─`}, nil},
		{"kind text", file("create", ipc.FileRequest{Path: "a.png", Content: png, Encoding: "base64"}),
			[]string{`image/png`, `2\.3 KiB`}, []string{`PNG\r`, "\x00", `\\x00`}},
		{"kind cut", file("create", ipc.FileRequest{Path: "long.ini", Content: lines.String()}),
			[]string{`line = 50\b`, `30 more lines`}, []string{`line = 51\b`}},
		{"kind structured", ipc.BatchCall{Check: &ipc.CheckRequest{Tool: "mcp__db__query",
			Args: json.RawMessage(`{"limit":5,"where":{"id":[1,2]}}`)}},
			[]string{`"limit": 5`, `"where": \{`, `"id": \[`}, nil},
	} {
		d.Wait("nothing waits")
		done := h.agent().asksAll(c.call)
		d.Wait(waits)
		settle()
		shown := d.Colors()
		for _, want := range c.want {
			if !regexp.MustCompile(want).MatchString(shown) {
				t.Errorf("%s: no %s on the screen:\n%s", c.name, want, shown)
			}
		}
		for _, lack := range c.lack {
			if regexp.MustCompile(lack).MatchString(shown) {
				t.Errorf("%s: %s is on the screen:\n%s", c.name, lack, shown)
			}
		}
		d.steps("n", "?> .*Deny", "Enter")
		<-done
	}
}
