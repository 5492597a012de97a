package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const ourCommand = `'/opt/my tools/it'\''s/sbx' '--socket-dir' '/run/s' 'hook' 'claude' '--agent-version' '2.1.330'`

// Whatever the settings look like, Install adds the hook and changes nothing
// else, is idempotent, takes another command's place, and Remove gives back the
// very bytes.
func TestInstallAndRemove(t *testing.T) {
	other := `{"matcher": "Bash", "hooks": [{"type": "command", "command": "/usr/local/bin/mine"}]}`
	for _, before := range []string{
		"", "{}", "{}\n", "{\n}\n", " { } ", "{\t}\n\n",
		`{"model": "opus"}`, "{\n\t\"model\": \"opus\"\n}\n", "{\r\n    \"model\": \"opus\"\r\n}\r\n",
		`{"hooks": {}}`, "{\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {\n  }\n}\n", `{"hooks": {"PostToolUse": []}}`,
		`{"hooks": {"PreToolUse": []}}`, "{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n",
		"{\n  \"hooks\": {\n    \"PreToolUse\": [\n    ]\n  }\n}", `{"hooks": {"PreToolUse": [` + other + `]}, "z": 1.50e+3}`,
		"{\"a\": \"\\u00e9\\\\\",\n   \"hooks\":{\"PreToolUse\":[" + other + ",\n" + other + "]   ,\"Stop\":[]}}",
		`{"a\"b\\": {"deep": [[[{"hooks": {"PreToolUse": [1]}}]]]}}`,
		`{"hooks": {"PreToolUse": ["first"]}, "hooks": {"PreToolUse": []}}`, // an agent takes the last
		"{\"big\": \"" + strings.Repeat("x", 1<<20) + "\"}",
	} {
		name := before[:min(len(before), 70)]
		after, err := Claude.Install([]byte(before), ourCommand)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		var s struct {
			Hooks struct{ PreToolUse []any } `json:"hooks"`
		}
		if err := json.Unmarshal(after, &s); err != nil || !strings.Contains(fmt.Sprint(s.Hooks.PreToolUse), "it'\\''s/sbx") {
			t.Errorf("%q became %q: %v", name, after, err)
		}
		if again, err := Claude.Install(after, ourCommand); err != nil || !bytes.Equal(again, after) {
			t.Errorf("%q, a second time: %q %v", name, again, err)
		}
		newer, err := Claude.Install(after, strings.Replace(ourCommand, "330", "331", 1))
		if err != nil || bytes.Equal(newer, after) || len(newer) != len(after) {
			t.Errorf("%q, another version: %q %v", name, newer, err)
		}
		want := before
		if before == "" {
			want = Claude.Created()
		}
		for _, installed := range [][]byte{after, newer} {
			if back, err := Claude.Remove(installed); err != nil || string(back) != want {
				t.Errorf("%q, taken out again: %q %v", name, back, err)
			}
		}
		if back, err := Claude.Remove([]byte(before)); err != nil || string(back) != before {
			t.Errorf("%q, taken out where it is not: %q %v", name, back, err)
		}
		if back, err := Codex.Remove(after); err != nil || !bytes.Equal(back, after) {
			t.Errorf("%q: taken out for another agent: %q %v", name, back, err)
		}
	}
	// Settings reformatted since: the hook is found, and the rest stays.
	after, err := Claude.Install([]byte(`{"model": "opus", "hooks": {"Stop": []}}`), ourCommand)
	if err != nil {
		t.Fatal(err)
	}
	var pretty, tight bytes.Buffer
	json.Indent(&pretty, after, "", "        ")
	json.Compact(&tight, after)
	for _, text := range []string{pretty.String(), tight.String()} {
		back, err := Claude.Remove([]byte(text))
		var s map[string]any
		if err != nil || json.Unmarshal(back, &s) != nil || s["model"] != "opus" || strings.Contains(string(back), "sbx") {
			t.Errorf("%s: %s %v", text, back, err)
		}
	}
}

// What is not the JSON that an agent would read is refused, not mended.
func TestInstallRefuses(t *testing.T) {
	for _, settings := range []string{
		"[]", "null", "{", `{"hooks": []}`, `{"hooks": null}`, `{"hooks": {"PreToolUse": {}}}`, `{} {}`, "{}x",
		"\xef\xbb\xbf{}", "{\n  // a comment\n  \"model\": \"opus\"\n}", "{\"a\": 1,}", strings.Repeat(`{"a":`, 20000) + "1" +
			strings.Repeat("}", 20000),
	} {
		for _, err := range []error{second(Claude.Install([]byte(settings), ourCommand)),
			second(Claude.Remove([]byte(settings)))} {
			if err == nil {
				t.Errorf("%q was taken", settings[:min(len(settings), 60)])
			}
		}
	}
}

func second(_ []byte, err error) error { return err }

// Only what Quote made is ours, and only a call of sbx's.
func TestOurs(t *testing.T) {
	for command, want := range map[string]bool{
		ourCommand:                           true,
		`'/usr/bin/sbx' 'hook' 'claude'`:     true,
		`'/usr/bin/sbx' 'hook' 'codex'`:      false,
		`/usr/bin/sbx hook claude`:           false,
		`'/usr/bin/notsbx' 'hook' 'claude'`:  false,
		`'/usr/bin/sbx' 'run' 'hook claude'`: false,
		`'/usr/bin/sbx' 'hook'`:              false,
		`'/usr/bin/sbx`:                      false, `''`: false, ``: false, `'a'x`: false, `'a' `: false,
	} {
		if got := Claude.ours(command); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}

// Every vendor's hook is taken out again byte for byte, from a new file as from one with settings, and a file of that
// name that is not ours is left alone.
func TestEachVendorInstalls(t *testing.T) {
	for _, v := range Vendors {
		command := fmt.Sprintf("'/usr/bin/sbx' 'hook' '%s' '--agent-version' '9.9.9'", v.Command())
		settings := []string{"", "{\n  \"theme\": \"dark\"\n}\n",
			"{\n  \"version\": 1,\n  \"hooks\": {\"stop\": [{\"command\": \"true\"}]}\n}\n"}
		if v.plugin != "" {
			settings = settings[:1]
			notOurs := strings.Replace(v.plugin, commandWord, v.inPlugin("'/bin/rm'"), 1)
			for _, theirs := range []string{"export default 1\n", notOurs} {
				if text, err := v.Install([]byte(theirs), command); err == nil {
					t.Errorf("%s: another file became %q", v.Name, text)
				}
				if back, err := v.Remove([]byte(theirs)); err != nil || string(back) != theirs {
					t.Errorf("%s: another file, taken out: %q %v", v.Name, back, err)
				}
			}
		}
		for _, before := range settings {
			after, err := v.Install([]byte(before), command)
			if err != nil || !strings.Contains(string(after), "'hook' '"+v.Command()+"'") {
				t.Errorf("%s, %q: %q %v", v.Name, before, after, err)
				continue
			}
			if _, ours := v.Others(after); !ours {
				t.Errorf("%s: its own hook is not found in %q", v.Name, after)
			}
			if again, err := v.Install(after, command); err != nil || !bytes.Equal(again, after) {
				t.Errorf("%s, a second time: %q %v", v.Name, again, err)
			}
			want := before
			if before == "" {
				want = v.Created()
				// A new file is indented throughout, down to its last brace.
				var indented bytes.Buffer
				if err := json.Indent(&indented, after, "", "  "); v.plugin == "" && indented.String() != string(after) {
					t.Errorf("%s: the new file has %s: %v", v.Name, after, err)
				}
			}
			if back, err := v.Remove(after); err != nil || string(back) != want {
				t.Errorf("%s, taken out again: %q %v, want %q", v.Name, back, err, want)
			}
		}
	}
}
