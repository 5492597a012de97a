package man

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func tree() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "Do things", Example: "  tool do", Run: run}
	do := &cobra.Command{Use: "do", Short: "Do one thing", Long: "Do it.\n.SH not a heading\n'quoted'\n\nBack\\slash.",
		Example: "  tool do -- x\n  .hidden", Run: run}
	do.Flags().StringP("command", "c", "", "a line, in place of `WORDS`")
	secret := &cobra.Command{Use: "secret", Hidden: true, Run: run}
	root.AddCommand(do, secret)
	return root
}

var texts = Texts{
	Forms: func(c *cobra.Command) []string {
		return []string{c.CommandPath() + " [flags] -- X", c.CommandPath() + " -c LINE"}
	},
	Ends: func(*cobra.Command) [][]string { return [][]string{{"0", "done"}} },
	Files: func(c *cobra.Command) [][]string {
		if c.HasParent() {
			return nil
		}
		return [][]string{{"~/.toolrc", "settings"}}
	},
}

func TestPages(t *testing.T) {
	pages := Pages(tree(), "1.0", texts)
	if len(pages) != 2 {
		t.Fatalf("%d pages, want tool.1 and tool-do.1", len(pages))
	}
	text := string(pages["tool-do.1"])
	for _, want := range []string{
		".SH NAME\ntool\\-do \\- Do one thing\n",
		".B tool do [flags] \\-\\- X\n.br\n.B tool do \\-c LINE\n",
		"\nDo it. .SH not a heading 'quoted'\n.PP\nBack\\eslash.\n",
		".B \\-c, \\-\\-command WORDS\na line, in place of WORDS\n",
		".SH EXIT STATUS\n.TP\n.B 0\ndone\n",
		".SH SEE ALSO\ntool(1)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// R-UX-07: the root's page lists the verbs with their texts, and the places.
func TestRoot(t *testing.T) {
	text := string(Pages(tree(), "1.0", texts)["tool.1"])
	for _, want := range []string{
		".SH VERBS\n.TP\n.BR tool\\-do (1)\nDo one thing\n",
		".SH FILES\n.TP\n.B ~/.toolrc\nsettings\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// The pages say the same to the program that formats them, where it is installed.
func TestPagesFormat(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // packaging's tests format the real pages
	}
	for name, page := range Pages(tree(), "1.0", texts) {
		cmd := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = strings.NewReader(string(page))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
