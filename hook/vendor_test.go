package hook

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// A refusal of malformed input named Go's types, and for Copilot CLI another agent.
func TestRefusalOfMalformedInput(t *testing.T) {
	inputs := []string{"", "[]", "5", "null", `"x"`, "{}", `{"tool_name":5}`, `{"toolName":[],"hookEventName":{}}`, `{"cwd":{}}`,
		`{"taskId":5}`, `{"workspaceRoots":{}}`, `{"preToolUse":5}`, `{"preToolUse":{"toolName":[]}}`, `{"tool_call":[]}`,
		`{"is_interrupt":"x"}`, `{"hook_event_name":"X"}`}
	for _, v := range Vendors {
		for _, input := range inputs {
			h := Hook{Vendor: &v, Mode: Wrap}
			got := h.Answer(context.Background(), strings.NewReader(input)).Refusal
			wrong := slices.ContainsFunc([]string{"json:", "Go ", "map[", "struct", "RawMessage"}, func(word string) bool {
				return strings.Contains(got, word)
			})
			if got == "" || wrong || v.Name == "copilot" && input == `{"hook_event_name":"X"}` && strings.Contains(got, "VS Code") {
				t.Errorf("%s: %s: %s", v.Name, input, got)
			}
		}
	}
	for input, want := range map[string]string{"[]": "want object, not array", `{"tool_name":5}`: "tool_name: want string, not number"} {
		h := Hook{Vendor: &Claude, Mode: Wrap}
		if got := h.Answer(context.Background(), strings.NewReader(input)).Refusal; !strings.Contains(got, want) {
			t.Errorf("%s: %s", input, got)
		}
	}
	if _, err := Cline.call([]byte(`{"preToolUse":5}`)); !strings.Contains(err.Error(), "preToolUse: want object, not number") {
		t.Error(err)
	}
}
