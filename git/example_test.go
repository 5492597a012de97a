package git_test

import (
	"fmt"
	"os"
	"path/filepath"

	"sandboxd/git"
)

// Find and Reader tell which programs a repository would have git run, without git.
func Example() {
	dir, err := os.MkdirTemp("", "git-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"HEAD":        "ref: refs/heads/main\n",
		"config":      "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./watch.sh\n[user]\n\tname = Anna\n",
		"objects/.id": "", "refs/.id": "",
	} {
		file := filepath.Join(dir, ".git", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	repos, err := git.Find(git.Disk, dir)
	if err != nil {
		panic(err)
	}
	settings, err := git.Reader{Host: git.Disk}.Config(repos[0])
	if err != nil {
		panic(err)
	}
	for _, s := range settings {
		if s.Local {
			fmt.Printf("%s: %s\n", s.Key(), git.KindOf(s))
		}
	}
	// Output:
	// core.repositoryformatversion: harmless
	// core.fsmonitor: program
	// user.name: harmless
}
