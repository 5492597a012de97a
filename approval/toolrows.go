package approval

import (
	"slices"
	"strings"
)

// Act is what a tool does, as far as it decides how a call is judged: one that names a path is judged by that path,
// whatever the tool is called. The zero value is for all others.
type Act string

// The values of Act.
const (
	ActRead   Act = "read"   // shows one file
	ActList   Act = "list"   // lists names below a directory
	ActSearch Act = "search" // shows lines of the files below a directory
	ActWrite  Act = "write"  // changes files
	ActDelete Act = "delete" // removes files
	ActFetch  Act = "fetch"  // reads a URL
)

// ToolRow is one row of the default table.
type ToolRow struct {
	Tool string
	Act  Act
	// Safe tools only read, or only talk to the person; they run unasked.
	// The others can change files or have effects outside; they ask.
	Safe bool
	// Asks: the specification has it ask for every path; the others ask where a path does.
	Asks bool
	// Delete: asks twice.
	Delete bool
	// Whole: "any call of this tool" is offered as a grant. Never for tools
	// that run commands or touch files (R-AP-05).
	Whole bool
}

// agentTools are the tools of coding agents, as Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, opencode and pi
// call them. "": they change the agent's own list, plan or conversation, and run unasked.
var agentTools = map[Act]string{
	"": "TodoWrite TodoRead todowrite todoread todo_write write_todos update_todo update_plan report_intent " +
		"Task Agent TaskCreate TaskUpdate TaskList TaskGet TaskOutput TaskStop BashOutput KillShell " +
		"KillBash EnterPlanMode ExitPlanMode AskUserQuestion ToolSearch",
	ActRead:   "Read NotebookRead read read_file view",
	ActList:   "Glob LS glob list ls find list_directory",
	ActSearch: "Grep grep rg grep_search search_file_content",
	ActWrite: "Write Edit MultiEdit NotebookEdit multiedit write_file replace edit_file create str_replace insert " +
		"patch apply_patch",
	ActFetch: "WebFetch webfetch",
}

// DefaultToolRows are the tool tables of the web approval specification, and the tools of coding agents. The
// specification's third table, "unknown", is ToolsConfig.Unknown: there such tools ran, here they ask (R-AP-24).
func DefaultToolRows() []ToolRow {
	rows := []ToolRow{
		{Tool: "list_files", Safe: true, Act: ActList},
		{Tool: "get_file_info", Safe: true, Act: ActList},
		{Tool: "task", Safe: true},
		{Tool: "load_guide", Safe: true},
		{Tool: "enter_plan_mode", Safe: true},
		{Tool: "exit_plan_mode", Safe: true},
		{Tool: "write_plan", Safe: true},
		{Tool: "task_output", Safe: true},
		{Tool: "ask_user", Safe: true},

		{Tool: "bash"},
		{Tool: "write", Act: ActWrite, Asks: true},
		{Tool: "edit", Act: ActWrite, Asks: true},
		{Tool: "multi_edit", Act: ActWrite, Asks: true},
		{Tool: "run_background"},
		{Tool: "kill_task", Whole: true},
		{Tool: "send_email", Whole: true},
		{Tool: "post", Whole: true},
		{Tool: "delete", Delete: true, Act: ActDelete},
		{Tool: "remove", Delete: true, Act: ActDelete},
	}
	for act, names := range agentTools {
		for name := range strings.FieldsSeq(names) {
			rows = append(rows, ToolRow{Tool: name, Act: act, Safe: act == "", Whole: act == "" || act == ActFetch})
		}
	}
	return rows
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
