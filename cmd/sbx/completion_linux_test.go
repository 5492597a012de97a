package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/ipc"
)

// undoable is the id of the one change that sbx undo --list has.
func (h *house) undoable() string {
	h.t.Helper()
	out, _, _ := h.apart("undo", "--list", "--json")
	var list []ipc.Change
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		h.t.Fatalf("%v: %s", err, out)
	}
	return list[0].ID
}

// R-UX-07: the completions, loaded as the help of sbx completion says by the real
// shells, complete verbs, and the ids of what there is.
func TestCompletions(t *testing.T) {
	for shell, c := range map[string]struct{ start, file, rc string }{
		"bash": {"bash --noprofile --rcfile $RC/rc -i", "rc",
			"source /usr/share/bash-completion/bash_completion; PS1='> '; source <(sbx completion bash)\n"},
		"zsh": {"ZDOTDIR=$RC zsh -i", ".zshrc", "autoload -U compinit; compinit -u -d $RC/dump; PS1='> '; source <(sbx " +
			"completion zsh)\n"},
		"fish": {"XDG_CONFIG_HOME=$RC XDG_DATA_HOME=$RC fish --no-config -i -C 'source $RC/rc.fish'", "rc.fish",
			"sbx completion fish | source; function fish_prompt; echo -n '> '; end; function fish_greeting; end\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, slow)
			done := h.agent().asks(plain)
			id := h.waits(1)[0].ID
			written := file("write", ipc.FileRequest{Path: "notes/undo.txt", Content: "one\n"})
			if end := <-h.agent().asks(written); end.err != nil {
				t.Fatal(end.err)
			}
			undo := h.undoable()
			rc := t.TempDir()
			if err := os.WriteFile(filepath.Join(rc, c.file), []byte(c.rc), 0o644); err != nil {
				t.Fatal(err)
			}
			start := "cd " + h.project() + " && " + c.start
			d := &approverSocket{Tmux: termtest.OpenTmux(t, 100, 20, append(h.env, "RC="+rc), start), t: t}
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
			d.Press(`"sbx undo f"`, "Tab") // U21: it completed files
			d.Wait("^> sbx undo " + undo)
			d.Press("C-u")
			d.Wait("^>$")
			d.Press(`"sbx run -- sandboxd-la"`, "Tab") // and no programs
			d.Wait("^> sbx run -- sandboxd-launch")
			d.Press(`" notes/rep"`, "Tab")
			d.Wait("^> sbx run -- sandboxd-launch +notes/report.adoc")
			d.Press("C-u")
			d.Wait("^>$")
			d.Press(`"sbx check -- sandboxd-la"`, "Tab")
			d.Wait("^> sbx check -- sandboxd-launch")
			d.Press("C-u")
			d.Wait("^>$")
			h.sbx("approve", id, "--deny")
			<-done
		})
	}
}
