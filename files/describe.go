package files

import (
	"fmt"
	"path"
	"strings"

	"sandboxd/approval"
)

// projectRoot is the name of the sandbox that the defaults have.
const projectRoot = "project"

// describe returns one line on the effect. Paths are the real ones; front ends make them safe to
// show.
func describe(req Request, f Facts) string {
	p, to := f.Path.Real, ""
	if f.To != nil {
		to = f.To.Real
	}
	switch req.Op {
	case Read:
		return "Read file: " + p
	case List:
		return "List folder: " + p
	case Stat:
		return "Look at: " + p
	case Grep:
		return fmt.Sprintf("Search for %q in: %s", req.Pattern, p)
	case Create:
		return "Create file: " + p
	case Write:
		if f.Path.Kind == Absent {
			return "Create file: " + p
		}
		return "Overwrite file: " + p
	case Edit:
		return "Edit file: " + p
	case MultiEdit:
		return fmt.Sprintf("Edit file in %d places: %s", len(req.Edits), p)
	case Append:
		return "Append to file: " + p
	case Insert:
		return "Insert into file: " + p
	case Delete:
		return "Delete " + noun(f.Path.Kind) + ": " + p
	case Rmdir:
		if req.Recursive {
			return "Delete folder with all it holds: " + p
		}
		return "Delete empty folder: " + p
	case Mkdir:
		return "Make folder: " + p
	case Move:
		return fmt.Sprintf("Move %s: %s to %s%s", noun(f.Path.Kind), p, to, overwriting(f.To))
	case Copy:
		return fmt.Sprintf("Copy %s: %s to %s%s", noun(f.Path.Kind), p, to, overwriting(f.To))
	}
	return fmt.Sprintf("File operation (%s): %s", req.Op, p)
}

func noun(k Kind) string {
	switch k {
	case Dir:
		return "folder"
	case Symlink:
		return "symbolic link"
	}
	return "file"
}

func overwriting(to *Fact) string {
	if to == nil || to.Kind == Absent {
		return ""
	}
	return ", overwriting it"
}

// payload returns the operation and its paths, never content: "allow for this session" is bound to
// it (R-AP-05).
func payload(req Request, v Verdict) map[string]any {
	out := map[string]any{"op": string(req.Op), "sandbox": v.Sandbox, "path": v.Path}
	if v.To != "" {
		out["to"] = v.To
	}
	if req.Recursive {
		out["recursive"] = true
	}
	return out
}

// suggestions are the patterns that an answer may widen a grant to, from narrow to wide: the same
// operation below the file's folder, and in the sandbox. An operation that asks twice has none.
func (r *Rules) suggestions(req Request, v Verdict) []approval.Suggestion {
	if v.Decision != Ask || v.Protected || v.Delete || req.Op.hasTo() {
		return nil
	}
	root, rel, ok := r.Locate(v.Path)
	if !ok {
		return nil
	}
	offer := func(dir, label string) approval.Suggestion {
		return approval.Suggestion{
			Label: fmt.Sprintf("%s: everything below %s", verb(req.Op), label),
			Pattern: approval.Pattern{Tool: v.Tool, Where: []approval.Condition{
				approval.Equal("op", string(req.Op)), approval.Equal("sandbox", v.Sandbox), approval.Under("path", dir),
			}},
		}
	}
	var out []approval.Suggestion
	if dir := path.Dir(rel); dir != "." && rel != "." {
		out = append(out, offer(path.Join(root.Path, dir), dir+"/"))
		if top, _, nested := strings.Cut(dir, "/"); nested {
			out = append(out, offer(path.Join(root.Path, top), top+"/"))
		}
	}
	return append(out, offer(root.Path, root.Path+"/"))
}

func verb(o Op) string {
	switch o {
	case Create:
		return "create"
	case Write:
		return "write"
	case Read, List, Stat, Grep:
		return "read"
	}
	return "change"
}
