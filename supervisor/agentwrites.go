package supervisor

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sandboxd/approval"
	"sandboxd/files"
)

// judgeChanges judges a call that changes files as the file tool's operations on them, except that the agent changes
// the files itself. The strictest verdict counts, and the question shows the change.
func (s *Supervisor) judgeChanges(ctx context.Context, sess *Session, peer Peer, r ToolRequest, call *approval.Call) {
	class, q := &call.Class, call.Request
	given := func(name string) bool { return r.Args[name] != nil }
	changes, known := changesOf(sess.Home, r, class.Act)
	known = known && !slices.ContainsFunc(doubtful, given)
	if !known {
		class.Protected, q.Risk = class.Protected || slices.ContainsFunc(pathArguments, given), approval.RiskHigh
		q.Reasons = append(q.Reasons, "only the agent knows which file it would change")
	}
	safe, judged := known && class.Rule == approval.RuleNone && !class.Asks, []*fileJudgement{}
	for _, change := range changes {
		c, err := s.fileCall(sess, peer, FileRequest{Request: change})
		if err != nil {
			return // without a project the question stays
		}
		j, err := s.judgeFile(ctx, c)
		if err != nil {
			safe = false // as where the path can't be a file's
			continue
		}
		judged = append(judged, j)
		v := j.verdict
		if v.Decision == files.Block {
			call.Blocked = &approval.BlockedError{Reason: v.Why, Rule: v.Rule}
			return
		}
		class.Protected, class.Delete = class.Protected || v.Protected, class.Delete || v.Delete
		safe = safe && v.Decision == files.Auto && !j.needsPerson() && j.conflict == nil
		if v.Decision == files.Ask {
			q.Reasons, q.BlockedPath = append(q.Reasons, v.Why), v.Path
		}
		if v.Risk == approval.RiskHigh {
			q.Risk = v.Risk
		}
		if !safe && !r.DryRun && len(changes) == 1 && j.conflict == nil && shown(change) {
			// At once, and not when somebody looks: a front end may answer the question in its first state.
			if q.Presentation, err = s.present(ctx, c, j); err != nil {
				q.Reasons = append(q.Reasons, "the change can't be shown: "+err.Error())
			}
		}
	}
	class.Safe = safe && len(judged) > 0
	if len(judged) > 0 && len(judged) == len(changes) {
		describeChanges(call, judged)
	}
}

// doubtful are the names of arguments that may hold a path, which a tool may take instead of one of pathArguments.
var doubtful = []string{"file", "filename"}

// describeChanges names the files in a question, and has a yes cover these files alone: the same words may mean
// others in another directory.
func describeChanges(call *approval.Call, judged []*fileJudgement) {
	var texts, paths []string
	for _, j := range judged {
		texts, paths = append(texts, j.verdict.Description), append(paths, j.verdict.Path)
	}
	q := call.Request
	q.Description = call.Tool + ": " + strings.Join(texts, "; ")
	if values := slices.Collect(maps.Values(q.Payload)); len(paths) == 1 && slices.Contains(values, any(paths[0])) {
		return
	}
	q.Payload = maps.Clone(q.Payload)
	q.Payload["changes"] = paths
	call.Payload = q.Payload
}

// shown reports whether an operation has all of its content, so that the change can be shown.
func shown(change files.Request) bool {
	return change.Op != files.Write || change.Content != nil
}

// contentArguments are the names of the arguments that hold the whole content of a file.
var contentArguments = []string{"content", "contents", "file_text", "fileText"}

// editArguments are the names of the arguments that hold a text to replace, and the one in its place.
var editArguments = [][2]string{
	{"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"}, {"oldText", "newText"},
}

// changesOf returns a call as operations of the file tool. known is false where only the agent knows which files it
// changes.
func changesOf(home string, r ToolRequest, act approval.Act) (changes []files.Request, known bool) {
	if paths := patched(r); len(paths) > 0 {
		for _, p := range paths {
			known = !rewritten(p)
			if !known {
				return nil, false
			}
			changes = append(changes, files.Request{Op: files.Write, Path: within(r.Cwd, p), Parents: true})
		}
		return changes, true
	}
	expanded := maps.Clone(r.Args)
	for _, name := range pathArguments {
		if p, ok := expanded[name].(string); ok && (p == "~" || strings.HasPrefix(p, "~/")) {
			expanded[name] = filepath.Join(home, p[1:])
		}
	}
	r.Args = expanded
	paths, known := pathsOf(r)
	for _, p := range paths {
		changes = append(changes, changeOf(r, p, act))
	}
	return changes, known && len(changes) > 0
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// patched returns the files that the patch of a call names, in the form of Codex's apply_patch.
func patched(r ToolRequest) (paths []string) {
	for _, name := range []string{"patch", "patchText", "input", "diff"} {
		text, _ := r.Args[name].(string)
		for line := range strings.Lines(text) {
			for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
				if p, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok && strings.TrimSpace(p) != "" {
					paths = append(paths, strings.TrimSpace(p))
				}
			}
		}
	}
	return paths
}

// changeOf is the call as an operation of the file tool: an edit where the arguments name the texts, else a new
// content.
func changeOf(r ToolRequest, path string, act approval.Act) files.Request {
	if act == approval.ActDelete {
		return files.Request{Op: files.Delete, Path: path}
	}
	edits := editsOf(r.Args)
	list, _ := r.Args["edits"].([]any)
	for _, item := range list {
		if one, ok := item.(map[string]any); ok {
			edits = append(edits, editsOf(one)...)
		}
	}
	switch {
	case len(edits) == 1:
		return files.Request{Op: files.Edit, Path: path, Edits: edits}
	case len(edits) > 1 && len(edits) == len(list):
		return files.Request{Op: files.MultiEdit, Path: path, Edits: edits}
	}
	change := files.Request{Op: files.Write, Path: path, Parents: true}
	for _, name := range contentArguments {
		if text, ok := r.Args[name].(string); ok {
			change.Content = append([]byte{}, text...)
		}
	}
	return change
}

// editsOf returns the replacement that arguments name; none where there is no text to replace.
func editsOf(args map[string]any) []files.Replacement {
	for _, names := range editArguments {
		before, had := args[names[0]].(string)
		after, has := args[names[1]].(string)
		if had && has && before != "" {
			count, _ := strconv.Atoi(fmt.Sprint(args["expected_replacements"])) // 0, once, where there is none
			return []files.Replacement{{Find: before, Replace: after, Count: count}}
		}
	}
	return nil
}
