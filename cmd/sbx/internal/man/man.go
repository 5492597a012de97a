// Package man writes manual pages, man(7), from a tree of cobra commands. A
// page has the text of --help, and the command's files.
package man

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Texts are the parts of a command's help besides its own fields.
type Texts struct {
	// Forms are the ways to write a command, each whole.
	Forms func(*cobra.Command) []string
	// Ends are the exit statuses of a command, each with its meaning.
	Ends func(*cobra.Command) [][]string
	// Files are the files of a command, each with its text.
	Files func(*cobra.Command) [][]string
	// Variables are the environment variables of all commands, for the root's page.
	Variables [][]string
}

// Pages returns the pages of root and every visible command below it, by file
// name.
func Pages(root *cobra.Command, version string, texts Texts) map[string][]byte {
	pages := map[string][]byte{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		c.InitDefaultHelpFlag()
		pages[name(c)+".1"] = page(c, version, texts)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return pages
}

func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func page(c *cobra.Command, version string, texts Texts) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q\n", strings.ToUpper(name(c)), escape(c.Root().Name()+" "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(name(c)), escape(c.Short))
	b.WriteString(".SH SYNOPSIS\n")
	for i, form := range texts.Forms(c) {
		if i > 0 {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(&b, ".B %s\n", escape(form))
	}
	if text := first(c.Long, c.Short); text != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for i, para := range strings.Split(text, "\n\n") {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			if code, ok := strings.CutPrefix(para, "\t"); ok { // verbatim
				b.WriteString(".nf\n    " + escape(strings.ReplaceAll(code, "\n\t", "\n    ")) + "\n.fi\n")
				continue
			}
			b.WriteString(filled(para) + "\n")
		}
	}
	verbs(&b, c)
	flags(&b, "OPTIONS", c.LocalNonPersistentFlags())
	flags(&b, "OPTIONS OF ALL VERBS", c.Root().PersistentFlags())
	rows(&b, "EXIT STATUS", texts.Ends(c))
	if !c.HasParent() {
		rows(&b, "ENVIRONMENT", texts.Variables)
	}
	rows(&b, "FILES", texts.Files(c))
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + escape(c.Example) + "\n.fi\n")
	}
	seeAlso(&b, c)
	return b.Bytes()
}

// verbs lists the commands below c, in their groups.
func verbs(b *bytes.Buffer, c *cobra.Command) {
	titles := []string{""}
	for _, g := range c.Groups() {
		titles = append(titles, g.ID)
	}
	heading := ".SH VERBS\n"
	for _, title := range titles {
		above := heading
		if title != "" {
			above += ".SS " + escape(title) + "\n"
		}
		for _, sub := range c.Commands() {
			if sub.Hidden || sub.Name() == "help" || sub.GroupID != title {
				continue
			}
			fmt.Fprintf(b, "%s.TP\n.BR %s (1)\n%s\n", above, escape(name(sub)), escape(sub.Short))
			above, heading = "", ""
		}
	}
}

func flags(b *bytes.Buffer, title string, set *pflag.FlagSet) {
	var list [][]string
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
		list = append(list, []string{names, usage})
	})
	rows(b, title, list)
}

// rows writes a section of names, each with a text.
func rows(b *bytes.Buffer, title string, list [][]string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", escape(title))
	for _, row := range list {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(row[0]), filled(row[1]))
	}
}

func seeAlso(b *bytes.Buffer, c *cobra.Command) {
	others := []string{"sandboxd(8)", "sandboxd.toml(5)"}
	if c.HasParent() {
		others = []string{name(c.Parent()) + "(1)"}
	}
	for _, sub := range c.Commands() {
		if c.HasParent() && !sub.Hidden && sub.Name() != "help" {
			others = append(others, name(sub)+"(1)")
		}
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", escape(strings.Join(others, ",\n")))
}

// filled writes text in lines of less than 80 characters, which mandoc(1) wants.
func filled(text string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(escape(line))+len(escape(word)) > 75 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return escape(strings.Join(append(lines, line), "\n"))
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
