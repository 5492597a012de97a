package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-OS-07: the copy of a person's git configuration has both files without what grants access, the included ones in
// their places, those under conditions that git decides as files of their own, and what is ignored. Nothing is of a
// file that git refuses or that lies in a project, by its name or by what that leads to.
func TestPersonal(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // of .gitconfig, HOME for the home directory, and then of the others
	}{
		{"both files", map[string]string{".config/git/config": "[Alias]\nst = status\n",
			".gitconfig": "[user]\n\tname = Ada\n\tsigningKey = x\n[credential]\nhelper = store\n[a \"B\"]\nc\n"},
			"[alias]\n\tst = \"status\"\n[user]\n\tname = \"Ada\"\n[a \"B\"]\n\tc\n"},
		{"one refused", map[string]string{".config/git/config": "[a]\nb = \"unclosed\n",
			".gitconfig": "[user]\n\tname = Eve\n"},
			"[user]\n\tname = \"Eve\"\n"},
		{"none", nil, ""},
		{"includes", map[string]string{".gitconfig": "[user]\nemail=a\n[include]\npath=inc/one\n[core]\neditor=vi\n",
			"inc/one": "[include]\npath=two\n[commit]\ngpgsign\n[http]\nextraHeader=x\n", "inc/two": "[user]\nemail=b\n"},
			"[user]\n\temail = \"a\"\n\temail = \"b\"\n[core]\n\teditor = \"vi\"\n"},
		{"a loop", map[string]string{".gitconfig": "[include]\npath=.gitconfig\n[a]\nb=c\n"},
			strings.Repeat("\tb = \"c\"\n", 21)},
		{"in a project", map[string]string{".gitconfig": "[include]\npath=~/project/c\n[include]\npath=~/link\n" +
			"[core]\nexcludesFile=~/project/c\n[a]\nb=c\n", "project/c": "[evil]\nx=y\n"}, "[a]\n\tb = \"c\"\n"},
		{"where it is", map[string]string{".gitconfig": "[includeIf \"gitdir:~/w/\"]\npath=w\n" +
			"[includeIf \"gitdir/i:./x\"]\npath=w\n" +
			"[includeIf \"onbranch:main\"]\npath=w\n[includeIf \"other:main\"]\npath=w\n",
			"w": "[user]\nemail=w\n"},
			"[includeif \"gitdir:~/w/\"]\n\tpath = \"HOME/.gitconfig-copy-1\"\n" +
				"[includeif \"gitdir/i:HOME/x\"]\n\tpath = \"HOME/.gitconfig-copy-2\"\n" +
				"[includeif \"onbranch:main\"]\n\tpath = \"HOME/.gitconfig-copy-3\"\n" +
				strings.Repeat("[user]\n\temail = \"w\"\n", 3)},
		{"remotes", map[string]string{".gitconfig": "[includeIf " +
			"\"hasconfig:remote.*.url:https://work.example/**\"]\npath=w\n" +
			"[includeIf \"hasconfig:remote.*.url:git@*:me/**\"]\npath=x\n" +
			"[includeIf \"hasconfig:remote.*.url:https://*\"]\npath=x\n",
			"w": "[user]\nemail=w\n", "x": "[user]\nemail=x\n"}, "[user]\n\temail = \"w\"\n"},
		{"ignored", map[string]string{".gitconfig": "[core]\nexcludesFile=~/mine\n", "mine": ".envrc\n",
			".config/git/ignore": "*.swp\n"}, "[core]\n\texcludesfile = \"HOME/.gitconfig-copy-1\"\n" +
			"\texcludesfile = \"HOME/.gitconfig-copy-2\"\n*.swp\n.envrc\n"},
	} {
		home := t.TempDir()
		if err := os.Symlink("project/c", home+"/link"); err != nil {
			t.Fatal(err)
		}
		for name, text := range c.files {
			name = filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := Personal{Host: Disk, Home: home, Remotes: []string{"https://work.example/a/b.git"},
			Foreign: func(name string) bool { return strings.HasPrefix(name, home+"/project/") },
			Secret:  func(string) bool { return false }}
		var got strings.Builder
		for _, f := range p.Copy() {
			got.Write(f.Data)
		}
		if text := strings.ReplaceAll(got.String(), home, "HOME"); text != c.want && "[a]\n"+c.want != text {
			t.Errorf("%s: the copy is\n%s, want\n%s", c.name, text, c.want)
		}
	}
}
