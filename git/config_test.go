package git

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// run runs git as the test's own user, without any configuration but the repository's.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repo makes a repository with one commit.
func repo(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	run(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a.x"), "a\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "first")
	return dir
}

// configs are texts that the reader and git must read alike.
var configs = []string{
	"[core]\n\tbare = false\n", "[a \"b c\"]\nd = e f # g\n", "[a]b=c\n", "[a.b]\nC = \"x;y\" ; z\n", "[a]\nb\n",
	"[a]\nb = \"x\\ty\\\\\"\\\nz\n", "[A \"B\\\"c\\\\d\"]\ne=1\n", "; c\n# d\n[x]\n", "[a]\nb = one   two  \n",
	"[a]\nb = \"  q  \"  r\n", "[a]\r\nb = c\r\n", "\xef\xbb\xbf[a]\nb=c", "[a-b]\nc-d = 1\n", "[a]\nb = \\\n\\\nc\n",
	"[a \"\"]\nb=c\n", "[]\na=b\n", "[a\n]\nb=c\n", "a=b\n", "[a]\n1=2\n", "[a] b = c [d]\n", "[a]\nb = \"unclosed\n",
	"[a]\nb = \\q\n", "[a]\nb c\n", "[a  \"b\"]\nc=d\n", "[a\"b\"]\nc=d\n",
	"[a]\nb = # nothing\n", "[a]\nb = \"\"\n", "[a.B.c \"D\"]\ne=f\n", "[a]\n\tb\t=\tc\td\n",
}

// theirs asks git what a text says, as "key\nvalue" or "key" without a value.
func theirs(t *testing.T, text string) ([]string, bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	cmd := exec.Command("git", "config", "--no-includes", "-z", "--list", "--file", file)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nosuch", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), true
}

func compareConfig(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "\x00") {
		return
	}
	settings, err := ParseConfig([]byte(text))
	want, ok := theirs(t, text)
	if !ok {
		return // git refuses it, and runs nothing
	}
	if err != nil {
		return // we ask
	}
	var got []string
	for _, s := range settings {
		line := s.Section + "."
		if s.HasSub {
			line += s.Sub + "."
		}
		line += s.Name
		if !s.Bare {
			line += "\n" + s.Value
		}
		got = append(got, line)
	}
	if len(want) == 1 && want[0] == "" {
		want = nil
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q is read as %q, by git as %q", text, got, want)
	}
}

// The reader of git's configuration reads what git reads, or refuses.
func TestConfigLikeGit(t *testing.T) {
	read := 0
	for _, c := range configs {
		compareConfig(t, c)
		if _, err := ParseConfig([]byte(c)); err == nil {
			read++
		}
	}
	if read < 15 {
		t.Errorf("only %d of %d texts are read", read, len(configs))
	}
}

func FuzzConfig(f *testing.F) {
	for _, c := range configs {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4096 {
			compareConfig(t, text)
		}
	})
}

// git ls-files and our reader agree on what an index links to.
func TestGitLinks(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		dir := repo(t)
		run(t, dir, "init", "-q", "some/nested")
		run(t, dir+"/some/nested", "commit", "-q", "--allow-empty", "-m", "x")
		for i := range 50 {
			write(t, filepath.Join(dir, "some", strings.Repeat("f", i+1)), "x")
		}
		run(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", ".")
		run(t, dir, "update-index", "--index-version", version)
		list, err := Links(Disk, Repository{Dir: dir + "/.git"}, nil)
		if err != nil || !slices.Equal(list, []string{"some/nested"}) {
			t.Errorf("version %s: %v, %v", version, list, err)
		}
		run(t, dir, "update-index", "--split-index")
		if list, err = Links(Disk, Repository{Dir: dir + "/.git"}, nil); err != nil || !slices.Contains(list, "some/nested") {
			t.Errorf("version %s, split: %v, %v", version, list, err)
		}
	}
}

// An index is refreshed with its hash, and without one where git skips it (index.skipHash, Git 2.40). R-LY-02
func TestRefresh(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		run(t, dir, "init", "-q", "--object-format="+format)
		write(t, filepath.Join(dir, "a"), "text")
		run(t, dir, "add", "a")
		name := filepath.Join(dir, ".git", "index")
		was, err := os.ReadFile(name)
		must(t, err)
		info, err := os.Stat(filepath.Join(dir, "a"))
		must(t, err)
		file := func(string) (Stat, bool) {
			content := func() []byte { return []byte("text") }
			return Stat{CTime: 7, Ino: 8, MTime: info.ModTime().UnixNano(), Size: 4, Content: content}, true
		}
		hashed := slices.Clone(was)
		if changed, err := Refresh(hashed, file); !changed || err != nil {
			t.Fatalf("%s: %t, %v", format, changed, err)
		}
		must(t, os.WriteFile(name, hashed, 0o644))
		got := run(t, dir, "ls-files", "--debug")
		if !strings.Contains(got, "ctime: 0:7") || !strings.Contains(got, "ino: 8") {
			t.Errorf("%s: git reads %s", format, got)
		}
		size := map[string]int{"sha1": 20, "sha256": 32}[format]
		body, none := len(was)-size, make([]byte, size)
		skipped := append(slices.Clone(was[:body]), none...)
		if changed, err := Refresh(skipped, file); !changed || err != nil || !bytes.Equal(skipped[:body], hashed[:body]) ||
			!bytes.Equal(skipped[body:], none) {
			t.Errorf("%s without a hash: %t, %v", format, changed, err)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := filepath.Join(t.TempDir(), "index")
		must(t, os.WriteFile(file, b, 0o644))
		_ = eachEntry(Disk, file, 20, 0, func(uint32, []byte, string) {})
	})
}
