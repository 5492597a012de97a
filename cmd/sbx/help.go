package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/display"
)

// helpVerb is `sbx help`. The words after it are never parsed as those of another verb, which could run them.
func helpVerb(a *app) *cobra.Command {
	return &cobra.Command{Use: "help", Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			args, err := globalFlags(c, args)
			if err != nil {
				return usage(c, "%v", err)
			}
			return a.help(c.Root(), args)
		}}
}

// help prints the help of the verb below c that words begin with. It skips flags, the word help and a verb's arguments.
func (a *app) help(c *cobra.Command, words []string) error {
	for _, word := range words {
		if strings.HasPrefix(word, "-") || word == "help" {
			continue
		}
		subs := c.Commands()
		if len(subs) == 0 {
			break
		}
		i := slices.IndexFunc(subs, func(sub *cobra.Command) bool { return sub.Name() == word })
		if i < 0 {
			return unknownVerb(c, word)
		}
		c = subs[i]
	}
	c.InitDefaultHelpFlag()
	a.printHelp(c)
	return nil
}

// printHelp prints the help of c. The flags of all verbs and the common exit statuses are
// in the help of sbx alone.
func (a *app) printHelp(c *cobra.Command) {
	a.paged()
	width := columns(a.out)
	a.printf("%s\n\nUsage:\n", first(c.Long, c.Short))
	for _, form := range forms(c) {
		a.printf("  %s\n", form)
	}
	if c.Example != "" {
		a.printf("\nExamples:\n%s\n", c.Example)
	}
	a.printVerbs(c, width)
	if flags := c.LocalFlags(); flags.HasAvailableFlags() && (c.Runnable() && !onlyVerbs(c) || !c.HasParent()) {
		title := "Flags"
		if !c.HasParent() {
			title = "Flags of all verbs"
		}
		a.printf("\n%s:\n%s", title, flags.FlagUsagesWrapped(width))
	}
	a.printEnds(c, width)
	if c.HasParent() {
		a.printf("\nsbx help has the flags and exit statuses of all verbs.\n")
		return
	}
	a.printf("\nEnvironment:\n")
	a.aligned(variables, 3, width)
	a.printf("\nFiles:\n")
	a.aligned(filesUsed(c), 3, width)
	a.printf("\nsbx help VERB has the flags of a verb, and examples.\n")
}

// variables are the environment variables of all verbs.
var variables = [][]string{
	{"SBX_SOCKET_DIR", "directory of the daemon's sockets"},
	{"SBX_STATE_DIR", "directory of records of a daemon that sbx starts"},
	{"SBX_SESSION, SBX_SESSION_SECRET", "a program's session, which sbx session open prints, for sbx run; other verbs " +
		"want --session"},
	{"SBX_PAGER, PAGER", "program that shows what is longer than the terminal; empty or cat: none"},
	{"NO_COLOR, CLICOLOR_FORCE", "colours: never; also where the output is no terminal"},
}

// onlyVerbs reports whether c does nothing itself.
func onlyVerbs(c *cobra.Command) bool {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return c.HasSubCommands() && endsOf[path] == ""
}

// forms are the ways to write c, each whole.
func forms(c *cobra.Command) (list []string) {
	parent := ""
	if c.HasParent() {
		parent = c.Parent().CommandPath() + " "
	}
	if !onlyVerbs(c) {
		for _, form := range strings.Split(c.Use, "  |  ") {
			list = append(list, parent+form)
		}
	}
	if c.HasSubCommands() {
		list = append(list, c.CommandPath()+" VERB")
	}
	return list
}

// printVerbs prints the verbs below c, in groups where they have some.
func (a *app) printVerbs(c *cobra.Command, width int) {
	titles := []string{""}
	if !c.HasParent() {
		titles = groups
	}
	order := map[string]int{}
	for i, v := range verbs() {
		order[v.name] = i + 1
	}
	for _, title := range titles {
		var rows [][]string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.GroupID == title {
				rows = append(rows, []string{sub.Name(), sub.Short})
			}
		}
		if len(rows) == 0 {
			continue
		}
		if !c.HasParent() {
			slices.SortStableFunc(rows, func(x, y []string) int { return order[x[0]] - order[y[0]] })
		}
		a.printf("\n%s:\n", first(title, "Verbs"))
		a.aligned(rows, 10, width)
	}
}

// printEnds prints how c ends; of a verb the ends that differ from all others.
func (a *app) printEnds(c *cobra.Command, width int) {
	var rows [][]string
	for _, e := range endings(c) {
		texts := strings.Split(e.text, "; ")
		texts = slices.DeleteFunc(texts, func(t string) bool {
			return c.HasParent() && (t == common[0].text || t == ends["usage"].text || t == ends["daemon"].text)
		})
		if len(texts) > 0 {
			rows = append(rows, []string{e.name(), strings.Join(texts, "; ")})
		}
	}
	if len(rows) > 0 {
		a.printf("\nExit status:\n")
		a.aligned(rows, 3, width)
	}
}

// aligned prints names and texts in two columns; a text that is wider than the terminal
// continues below itself, on a narrow one below its name.
func (a *app) aligned(rows [][]string, least, width int) {
	for _, row := range rows {
		least = max(least, display.Width(row[0]))
	}
	room := width - least - 4
	for _, row := range rows {
		switch {
		case width == 0:
			a.printf("  %-*s  %s\n", least, row[0], row[1])
		case room < 20:
			a.printf("%s%s", hang(row[0], width, 2, 4), hang(row[1], width, 6, 6))
		default:
			text := strings.TrimLeft(hang(row[1], width, least+4, least+4), " ")
			a.printf("  %-*s  %s", least, row[0], text)
		}
	}
}
