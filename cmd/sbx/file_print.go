package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sandboxd/display"
	"sandboxd/ipc"
)

// print writes the result of an operation: data to standard output, the rest to
// standard error.
func (r *fileRunner) print(q ipc.FileRequest, f ipc.FileResult) error {
	for _, w := range f.Warnings {
		if f.Enforcement != nil && !repeatsEnforcement(w, *f.Enforcement) {
			r.note("%s", w.Message)
		}
	}
	if q.DryRun {
		return r.printPreview(f)
	}
	switch q.Op {
	case "read":
		return r.printContent(q, f)
	case "list":
		r.printEntries(f)
	case "grep":
		r.printMatches(f)
	case "stat":
		r.printInfo(f)
	default:
		r.printChange(q, f)
	}
	r.printSkipped(f)
	if f.Truncated && q.Op != "read" {
		r.note("there is more than is shown; --limit shows more")
	}
	return nil
}

// printPreview shows the result of a dry run.
func (r *fileRunner) printPreview(f ipc.FileResult) error {
	words := map[string]string{ipc.DecisionAuto: "auto: it would be done unasked",
		ipc.DecisionAsk: "ask: a person would be asked", ipc.DecisionDeny: "deny: it would be refused"}
	pairs := []string{"why", f.Why, "rule", f.Rule, "path", f.Path, "to", f.To}
	fmt.Fprintln(r.out, display.Line(first(words[f.Decision], f.Decision)))
	fields(r.out, pairs...)
	r.block("change", f.Diff)
	return nil
}

// printContent writes every byte to files and pipes, and neutralises output to a
// terminal.
func (r *fileRunner) printContent(q ipc.FileRequest, f ipc.FileResult) error {
	content := []byte(f.Content)
	if f.Encoding == "base64" {
		var err error
		if content, err = base64.StdEncoding.DecodeString(f.Content); err != nil {
			return err
		}
	}
	w := r.out
	if isTerminal(w) {
		s := &display.Stream{W: w}
		defer s.Close()
		w = s
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	if f.Truncated {
		r.note("there is more: it has %s; continue with --offset %d", display.Size(f.Size), q.Offset+int64(len(content)))
	}
	return nil
}

func (r *fileRunner) printEntries(f ipc.FileResult) {
	var rows [][]string
	for _, e := range f.Entries {
		name := strings.TrimPrefix(e.Path, strings.TrimSuffix(f.Path, "/")+"/")
		if e.Target != "" {
			name += " -> " + e.Target
		}
		size := ""
		if e.Type == "file" {
			size = strconv.FormatInt(e.Size, 10)
		}
		rows = append(rows, []string{e.Type, fmt.Sprintf("%04o", e.Mode), size, e.ModTime.Local().Format("2006-01-02 15:04"),
			name})
	}
	table(r.out, rows)
}

func (r *fileRunner) printMatches(f ipc.FileResult) {
	for _, m := range f.Matches {
		sign, more := ":", ""
		if m.Context {
			sign = "-"
		}
		if m.Clipped {
			more = "…"
		}
		io.WriteString(r.out, display.Line(m.Path)+sign+strconv.Itoa(m.Line)+sign+display.Line(m.Text)+more+"\n")
	}
}

func (r *fileRunner) printSkipped(f ipc.FileResult) {
	for _, s := range f.Skipped {
		if strings.HasSuffix(s.Why, "folder") {
			r.note("passed over: %s", plural(s.Count, s.Why))
		} else {
			r.note("passed over: %s (%s)", plural(s.Count, "file"), s.Why)
		}
	}
}

func (r *fileRunner) printInfo(f ipc.FileResult) {
	if f.Info == nil {
		return
	}
	i := *f.Info
	fields(r.out, "path", i.Path, "type", i.Type, "size", display.Size(i.Size), "mode", fmt.Sprintf("%04o", i.Mode),
		"modified", i.ModTime.Local().Format("2006-01-02 15:04:05"), "leads to", i.Target, "hash", f.Hash)
}

// printChange names the change that can be undone. The id alone is on standard output.
func (r *fileRunner) printChange(q ipc.FileRequest, f ipc.FileResult) {
	if q.Op == "drop" {
		r.note("deleted the held change set %s", q.UndoID)
		return
	}
	if !f.Changed {
		r.note("nothing to change: %s is so already", first(f.Path, q.Path))
		return
	}
	fmt.Fprintln(r.out, display.Line(f.UndoID))
	what := q.Op + " " + f.Path
	if f.To != "" {
		what += " to " + f.To
	}
	if f.Replaced > 1 {
		what += fmt.Sprintf(" (%d places)", f.Replaced)
	}
	r.note("done: %s; sbx undo %s takes it back", what, f.UndoID)
}
