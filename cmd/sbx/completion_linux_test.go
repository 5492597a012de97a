package main

import (
	"os"
	"path/filepath"
	"testing"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// R-UX-07: the completions, loaded as the help of sbx completion says by the real
// shells, complete verbs, and the ids of what there is.
func TestCompletions(t *testing.T) {
	for shell, c := range map[string]struct{ start, file, rc string }{
		"bash": {"bash --noprofile --rcfile $RC/rc -i", "rc", "source /usr/share/bash-completion/bash_completion; PS1='> '; source <(sbx completion bash)\n"},
		"zsh":  {"ZDOTDIR=$RC zsh -i", ".zshrc", "autoload -U compinit; compinit -u -d $RC/dump; PS1='> '; source <(sbx completion zsh)\n"},
		"fish": {"XDG_CONFIG_HOME=$RC XDG_DATA_HOME=$RC fish --no-config -i -C 'source $RC/rc.fish'", "rc.fish", "sbx completion fish | source; function fish_prompt; echo -n '> '; end; function fish_greeting; end\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, slow)
			done := h.agent().asks(plain)
			id := h.waits(1)[0].ID
			rc := t.TempDir()
			if err := os.WriteFile(filepath.Join(rc, c.file), []byte(c.rc), 0o644); err != nil {
				t.Fatal(err)
			}
			d := &approverSocket{Tmux: termtest.OpenTmux(t, 100, 20, append(h.env, "RC="+rc), c.start), t: t}
			d.Wait("^>")
			d.Press(`"sbx gra"`, "Tab")
			d.Wait("^> sbx grants")
			d.Press("C-u")
			d.Wait("^>$")
			d.Press(`"sbx approve 0"`, "Tab")
			d.Wait("^> sbx approve " + id)
			d.Press("C-u")
			d.Wait("^>$")
			d.Press(`"sbx mode a"`, "Tab")
			d.Wait("^> sbx mode approve-all")
			d.Press("C-u")
			d.Wait("^>$")
			h.sbx("approve", id, "--deny")
			<-done
		})
	}
}
