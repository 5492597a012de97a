package approval

import (
	"slices"
	"strings"
)

// ToolRow is one row of the default table.
type ToolRow struct {
	Tool string
	// Safe tools only read, or only talk to the person; they run unasked.
	// The others can change files or have effects outside; they ask.
	Safe bool
	// Delete: asks twice.
	Delete bool
	// Exclude names large or secret arguments.
	Exclude []string
	// Whole: "any call of this tool" is offered as a grant. Never for tools
	// that run commands or touch files (R-AP-05).
	Whole bool
}

// DefaultToolRows are the tool tables of the web approval specification. Its
// third table, "unknown", is ToolsConfig.Unknown: there such tools ran, here
// they ask (R-AP-24).
func DefaultToolRows() []ToolRow {
	return []ToolRow{
		{Tool: "list_files", Safe: true},
		{Tool: "get_file_info", Safe: true},
		{Tool: "task", Safe: true},
		{Tool: "load_guide", Safe: true},
		{Tool: "enter_plan_mode", Safe: true},
		{Tool: "exit_plan_mode", Safe: true},
		{Tool: "write_plan", Safe: true},
		{Tool: "task_output", Safe: true},
		{Tool: "ask_user", Safe: true},

		{Tool: "bash"},
		{Tool: "write", Exclude: []string{"content"}},
		{Tool: "edit", Exclude: []string{"old_string", "new_string"}},
		{Tool: "multi_edit", Exclude: []string{"edits"}},
		{Tool: "run_background"},
		{Tool: "kill_task", Whole: true},
		{Tool: "send_email", Whole: true},
		{Tool: "post", Whole: true},
		{Tool: "delete", Delete: true},
		{Tool: "remove", Delete: true},
	}
}

// secretWords mark argument names that hold secrets, in any spelling.
var secretWords = []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
	"accesstoken", "authtoken", "refreshtoken", "authorization", "credential", "cookie"}

// secretKeys lists the names in args, at any depth, that look like secrets.
func secretKeys(args map[string]any) []string {
	var out []string
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > maxDepth {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				if looksSecret(k) && !slices.Contains(out, k) {
					out = append(out, k)
				}
				walk(x, depth+1)
			}
		case map[string]string:
			for k := range v {
				if looksSecret(k) && !slices.Contains(out, k) {
					out = append(out, k)
				}
			}
		case []any:
			for _, x := range v {
				walk(x, depth+1)
			}
		}
	}
	walk(args, 0)
	return out
}

func looksSecret(key string) bool {
	key = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(key))
	return key == "token" || key == "pwd" || slices.ContainsFunc(secretWords,
		func(w string) bool { return strings.Contains(key, w) })
}
