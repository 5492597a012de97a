package hook

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// refused is the refusal of a hook's input.
func refused(v Vendor, input string) string {
	h := Hook{Vendor: &v, Mode: Wrap}
	return h.Answer(context.Background(), strings.NewReader(input)).Refusal
}

// A refusal of malformed input named Go's types, and for Copilot CLI another agent.
func TestRefusalOfMalformedInput(t *testing.T) {
	inputs := []string{"", "[]", "5", "null", `"x"`, "{}", `{"tool_name":5}`, `{"toolName":[],"hookEventName":{}}`,
		`{"cwd":{}}`, `{"taskId":5}`, `{"workspaceRoots":{}}`, `{"preToolUse":5}`, `{"preToolUse":{"toolName":[]}}`,
		`{"tool_call":[]}`, `{"is_interrupt":"x"}`, `{"hook_event_name":"X"}`}
	for _, v := range Vendors {
		for _, input := range inputs {
			got := refused(v, input)
			named := func(word string) bool { return strings.Contains(got, word) }
			if got == "" || slices.ContainsFunc([]string{"json:", "Go ", "map[", "struct", "RawMessage"}, named) {
				t.Errorf("%s: %s: %s", v.Name, input, got)
			}
		}
	}
	for _, c := range []struct {
		v           Vendor
		input, want string
	}{
		{Claude, "[]", "want object, not array"},
		{Claude, `{"tool_name":5}`, "tool_name: want string, not number"},
		{Cline, `{"preToolUse":5}`, "preToolUse: want object, not number"},
		{Copilot, `{"hook_event_name":"X"}`, "the call names no event of GitHub Copilot CLI"},
	} {
		if got := refused(c.v, c.input); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s: %s", c.v.Name, c.input, got)
		}
	}
}
