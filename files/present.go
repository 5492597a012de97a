package files

import (
	"fmt"
	"strings"

	"sandboxd/approval"
)

// maxShownLines is how much of a content or diff a prompt shows; the rest is
// for the pager.
const maxShownLines = 50

// firstLines is how much of a file that will be deleted is shown.
const firstLines = 10

// Presentation returns a change for a person to see, from the worker's preview. It is costly for
// large files, so build it only for a question. Its text is unescaped; front ends make it safe to
// show.
//
// Metadata: "full_content" is the whole of a shortened content, "more_lines" the number of lines
// left out, "size" and "old_size" in bytes, "marks" the differing parts of the changed lines of a
// diff, each [line of the diff from 0, first byte, byte after the last] counted behind the sign.
func Presentation(req Request, facts Facts, p Preview) *approval.Presentation {
	target := facts.target(req)
	switch {
	case req.Op == Mkdir || req.Op.Reads():
		return &approval.Presentation{Kind: approval.KindText, Content: describe(req, facts)}
	case req.Op == Rmdir || facts.Path.Kind == Dir:
		return presentFolder(req, facts, p)
	case req.Op == Delete:
		return presentDelete(req, facts, p)
	case p.NewSize < 0:
		return &approval.Presentation{Kind: approval.KindText, Content: describe(req, facts)}
	}
	if b := presentBinary(req, facts, p); b != nil {
		return b
	}
	if target.Kind == Absent || p.OldSize < 0 {
		return presentNew(target.Real, p)
	}
	return presentDiff(target.Real, p)
}

// presentBinary presents contents that are not text, or too large to compare.
func presentBinary(req Request, facts Facts, p Preview) *approval.Presentation {
	oldKind, oldBinary := kindOf(p.Old)
	newKind, newBinary := kindOf(p.New)
	cut := int64(len(p.New)) < p.NewSize || p.OldSize >= 0 && int64(len(p.Old)) < p.OldSize
	if !oldBinary && !newBinary && !cut {
		return nil
	}
	var b strings.Builder
	b.WriteString(describe(req, facts) + "\n")
	if p.OldSize >= 0 {
		fmt.Fprintf(&b, "old: %s (%s)\n", oldKind, SizeText(p.OldSize))
	}
	fmt.Fprintf(&b, "new: %s (%s)\n", newKind, SizeText(p.NewSize))
	if cut && !oldBinary && !newBinary {
		b.WriteString("too large to show the difference\n")
	}
	return &approval.Presentation{Kind: approval.KindText, Content: b.String(), Metadata: sizes(p)}
}

func sizes(p Preview) map[string]any {
	m := map[string]any{}
	if p.OldSize >= 0 {
		m["old_size"] = p.OldSize
	}
	if p.NewSize >= 0 {
		m["size"] = p.NewSize
	}
	return m
}

// presentNew shows a new file's content.
func presentNew(path string, p Preview) *approval.Presentation {
	meta := sizes(p)
	return &approval.Presentation{
		Kind: approval.KindFileContent, Content: cut(string(p.New), maxShownLines, meta), Language: language(path),
		Metadata: meta,
	}
}

// presentDiff presents the change as a diff.
func presentDiff(path string, p Preview) *approval.Presentation {
	diff := unified(path, string(p.Old), string(p.New))
	meta := sizes(p)
	meta["marks"] = marks(diff)
	return &approval.Presentation{
		Kind: approval.KindDiff, Content: cut(diff, maxShownLines, meta), Language: language(path), Metadata: meta,
	}
}

// presentDelete presents the removed content.
func presentDelete(req Request, facts Facts, p Preview) *approval.Presentation {
	if p.OldSize < 0 {
		return &approval.Presentation{Kind: approval.KindText, Content: describe(req, facts)}
	}
	kind, binary := kindOf(p.Old)
	meta := sizes(p)
	text := fmt.Sprintf("%s\nsize: %s\n", describe(req, facts), SizeText(p.OldSize))
	if binary {
		return &approval.Presentation{Kind: approval.KindText, Content: text + "content: " + kind + "\n", Metadata: meta}
	}
	lines := strings.Count(string(p.Old), "\n")
	if int64(len(p.Old)) == p.OldSize {
		text += fmt.Sprintf("lines: %d\n", lines)
	}
	return &approval.Presentation{Kind: approval.KindText, Content: text + "\n" + cut(string(p.Old), firstLines, meta),
		Metadata: meta}
}

// presentFolder lists the entries that are removed with a folder.
func presentFolder(req Request, facts Facts, p Preview) *approval.Presentation {
	var b strings.Builder
	b.WriteString(describe(req, facts) + "\n")
	for _, h := range facts.Path.Holds {
		fmt.Fprintf(&b, "protected in it: %s\n", h)
	}
	for _, e := range p.Entries {
		fmt.Fprintf(&b, "  %s\n", strings.TrimPrefix(e, facts.Path.Real+"/"))
	}
	if p.More {
		b.WriteString("  … and more\n")
	}
	return &approval.Presentation{Kind: approval.KindText, Content: b.String()}
}

// cut returns the first lines of a text and sets the number of missing ones.
func cut(text string, limit int, meta map[string]any) string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) <= limit {
		return text
	}
	more := len(lines) - limit
	meta["full_content"], meta["more_lines"] = text, more
	return strings.Join(lines[:limit], "") + fmt.Sprintf("\n... [%d more lines]\n", more)
}
