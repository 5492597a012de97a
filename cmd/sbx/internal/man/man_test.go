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
	do := &cobra.Command{Use: "do [flags] -- X  |  do -c LINE", Short: "Do one thing", Long: "Do it.\n.SH not a heading\n'quoted'\n\nBack\\slash.", Example: "  tool do -- x\n  .hidden", Run: run}
	do.Flags().StringP("command", "c", "", "a line, in place of `WORDS`")
	secret := &cobra.Command{Use: "secret", Hidden: true, Run: run}
	root.AddCommand(do, secret)
	return root
}

func TestPages(t *testing.T) {
	pages := Pages(tree(), "1.0")
	if len(pages) != 2 {
		t.Fatalf("%d pages, want tool.1 and tool-do.1", len(pages))
	}
	text := string(pages["tool-do.1"])
	for _, want := range []string{
		".SH NAME\ntool\\-do \\- Do one thing\n",
		".B tool do [flags] \\-\\- X\n.br\n.B tool do \\-c LINE\n",
		"\n\\&.SH not a heading\n\\&'quoted'\n.PP\nBack\\eslash.\n",
		".B \\-c, \\-\\-command WORDS\na line, in place of WORDS\n",
		".SH SEE ALSO\ntool(1)\n",
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
	for name, page := range Pages(tree(), "1.0") {
		cmd := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = strings.NewReader(string(page))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
