package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/display"
	"sandboxd/ipc"
)

// Bounds of a table that is wider than its terminal.
const (
	gapCells  = 2  // between two columns
	wordCells = 30 // a column of words up to this width, such as ids, is never cut
	textCells = 16 // the least width of other columns
)

// listVerb completes the verb c, which lists objects of an approver: as the JSON of the whole answer, or as a table
// with a row for each object. none is the note where there are no objects.
func listVerb[L, T any](a *app, c *cobra.Command, get func(*ipc.Client, context.Context) (L, error), none string,
	objects func(L) []T, header []string, row func(T) []string) *cobra.Command {
	var asJSON bool
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, err := a.approver(c.Context())
		if err != nil {
			return err
		}
		list, err := get(client, c.Context())
		if err != nil {
			return err
		}
		return printList(a, asJSON, list, none, objects(list), header, row)
	}
	addJSON(c, &asJSON, "print JSON")
	return c
}

// printList prints an answer; see [listVerb].
func printList[T any](a *app, asJSON bool, list any, none string, objects []T, header []string,
	row func(T) []string) error {
	switch {
	case asJSON:
		return a.printJSON(list)
	case len(objects) == 0:
		a.note("%s", none)
		return nil
	}
	rows := [][]string{header}
	for _, o := range objects {
		rows = append(rows, row(o))
	}
	table(a.out, rows)
	return nil
}

// table prints rows in columns. Every cell is neutralised. On a terminal that is too narrow for them the
// cells of wide columns wrap, and where that does not suffice each row is a block with a line for each cell.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = display.Line(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], display.Width(row[i]))
		}
	}
	if width := columns(w); width > 0 && !narrow(widths, rows, width) {
		blocks(w, rows, width)
		return
	}
	for _, row := range rows {
		printRow(w, row, widths)
	}
}

// narrow reduces the widths of columns until a row fits into width, or reports false.
func narrow(widths []int, rows [][]string, width int) bool {
	over := gapCells*(len(widths)-1) - width
	for _, n := range widths {
		over += n
	}
	floors := make([]int, len(widths))
	for i, n := range widths {
		if floors[i] = min(n, textCells); whole(rows, i) {
			floors[i] = n
		}
	}
	for ; over > 0; over-- {
		widest := -1
		for i, n := range widths {
			if n > floors[i] && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

// whole reports whether a column holds only short words.
func whole(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool {
		return column < len(row) && (strings.Contains(row[column], " ") || display.Width(row[column]) > wordCells)
	})
}

// printRow prints a row whose cells wrap within their columns.
func printRow(w io.Writer, row []string, widths []int) {
	pieces, height := make([][]string, len(row)), 1
	for i, cell := range row {
		pieces[i] = display.Wrap(cell, widths[i])
		height = max(height, len(pieces[i]))
	}
	for line := range height {
		var b strings.Builder
		for i, cell := range pieces {
			text := ""
			if line < len(cell) {
				text = strings.TrimRight(cell[line], " ")
			}
			b.WriteString(text + strings.Repeat(" ", max(widths[i]-display.Width(text), 0)+gapCells))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// blocks prints each row as a block: its first cell, and below it the others that are not empty, by the names of
// their columns.
func blocks(w io.Writer, rows [][]string, width int) {
	var heads []string
	if headed(rows) {
		heads, rows = rows[0], rows[1:]
	}
	for _, row := range rows {
		indent := 0
		for i, cell := range row {
			text := strings.TrimSpace(cell)
			if text == "" {
				continue
			}
			if i > 0 && i < len(heads) && heads[i] != "" {
				text = strings.ToLower(heads[i]) + ": " + text
			}
			io.WriteString(w, hang(text, width, indent, indent+gapCells))
			indent = gapCells
		}
	}
}

// headed reports whether the first row names the columns, in capitals.
func headed(rows [][]string) bool {
	head := strings.Join(rows[0], "")
	return head != "" && head == strings.ToUpper(head)
}

// hang returns text in lines of at most width cells, with blanks before the first and before the rest.
func hang(text string, width, first, rest int) string {
	var b strings.Builder
	for indent := first; text != ""; indent = rest {
		piece := display.Wrap(text, max(width-indent, 1))[0]
		text = text[len(piece):]
		b.WriteString(strings.Repeat(" ", indent) + strings.TrimRight(piece, " ") + "\n")
	}
	return b.String()
}

// fields prints names and values, one pair a line; empty values are left out.
func fields(w io.Writer, pairs ...string) {
	var rows [][]string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			rows = append(rows, []string{pairs[i] + ":", pairs[i+1]})
		}
	}
	table(w, rows)
}
