// Package man writes manual pages, man(7), from a tree of cobra commands. What
// a page says is what --help says: there is one text to keep right.
package man

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Pages returns the pages of root and every visible command below it, by file
// name.
func Pages(root *cobra.Command, version string) map[string][]byte {
	pages := map[string][]byte{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		pages[name(c)+".1"] = page(c, version)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return pages
}

func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func page(c *cobra.Command, version string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q\n", strings.ToUpper(name(c)), escape(c.Root().Name()+" "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(name(c)), escape(c.Short))
	b.WriteString(".SH SYNOPSIS\n")
	for i, form := range strings.Split(c.Use, "  |  ") {
		if i > 0 {
			b.WriteString(".br\n")
		}
		parent := ""
		if c.HasParent() {
			parent = c.Parent().CommandPath() + " "
		}
		fmt.Fprintf(&b, ".B %s\n", escape(parent+form))
	}
	if text := first(c.Long, c.Short); text != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for i, para := range strings.Split(text, "\n\n") {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			if code, ok := strings.CutPrefix(para, "\t"); ok { // as it stands
				b.WriteString(".nf\n    " + escape(strings.ReplaceAll(code, "\n\t", "\n    ")) + "\n.fi\n")
				continue
			}
			b.WriteString(escape(para) + "\n")
		}
	}
	if text := c.Annotations["exit status"]; text != "" {
		b.WriteString(".SH EXIT STATUS\n.nf\n" + escape(text) + "\n.fi\n")
	}
	flags(&b, "OPTIONS", c.LocalNonPersistentFlags())
	flags(&b, "OPTIONS OF ALL VERBS", c.Root().PersistentFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + escape(c.Example) + "\n.fi\n")
	}
	seeAlso(&b, c)
	return b.Bytes()
}

func flags(b *bytes.Buffer, title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		if value != "" {
			names += " " + strings.ToUpper(value)
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(names), escape(usage))
	})
}

func seeAlso(b *bytes.Buffer, c *cobra.Command) {
	var others []string
	if c.HasParent() {
		others = append(others, name(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			others = append(others, name(sub))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(b, ".SH SEE ALSO\n%s(1)\n", escape(strings.Join(others, "(1), ")))
	}
}

// escape writes text so that roff takes none of it for its own, groff_char(7).
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "·", `\(bu`, "×", `\(mu`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
