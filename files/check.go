package files

import (
	"fmt"
	"strings"

	"sandboxd/approval"
)

// CheckApproval makes the rules a checking tool (R-AP-02). The call's arguments are those of
// requestOf; its facts are Facts, as the worker found them. A call without facts is refused with an
// error: a path's real target must not be guessed.
func (r *Rules) CheckApproval(c approval.Context) (*approval.Request, error) {
	req, err := requestOf(c.Tool, c.Args)
	if err != nil {
		return nil, err
	}
	facts, ok := c.Facts.(Facts)
	if !ok {
		return nil, fmt.Errorf("check %s: there are no facts of %q", c.Tool, req.Path)
	}
	return r.Judge(req, facts).Request()
}

// toolOps maps the names that agents use for file tools to operations: our own,
// those of the source specifications, and their spellings without "file_".
var toolOps = map[string]Op{
	"read_file": Read, "write_file": Write, "edit_file": Edit, "delete_file": Delete, "move_file": Move,
	"copy_file": Copy, "list_files": List, "list_dir": List, "get_file_info": Stat, "read": Read, "write": Write, "edit": Edit,
	"multi_edit": MultiEdit, "delete": Delete, "remove": Delete, "grep": Grep,
	"file_create_overwrite": Write, "file_insert_after": Insert, "file_insert_before": Insert, "file_multi_edit": MultiEdit,
}

// OpOf is the operation of a tool's name, and whether there is one.
func OpOf(tool string) (Op, bool) {
	if op, ok := toolOps[tool]; ok {
		return op, true
	}
	op := Op(strings.TrimPrefix(tool, "file_"))
	for _, known := range ops() {
		if op == known && strings.HasPrefix(tool, "file_") {
			return op, true
		}
	}
	return "", false
}

// requestOf reads the arguments that judging needs: "path" (also "file", "file_path"), "to" (also
// "destination"), "recursive".
func requestOf(tool string, args map[string]any) (Request, error) {
	op, ok := OpOf(tool)
	if !ok {
		return Request{}, fmt.Errorf("check %q: not a file tool", tool)
	}
	req := Request{Op: op, Before: tool == "file_insert_before"}
	req.Path = firstText(args, "path", "file", "file_path")
	req.To = firstText(args, "to", "destination")
	req.Recursive, _ = args["recursive"].(bool)
	req.Pattern = firstText(args, "pattern")
	if req.Path == "" {
		return Request{}, fmt.Errorf("check %s: the argument \"path\" is missing", tool)
	}
	if op.hasTo() && req.To == "" {
		return Request{}, fmt.Errorf("check %s: the argument \"to\" is missing", tool)
	}
	return req, nil
}

func firstText(args map[string]any, names ...string) string {
	for _, n := range names {
		if s, ok := args[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
