package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-SH-02 R-SH-03: commands that look as if they only read, and would write a file, run a program that nobody judged,
// or
// print a file from outside the project. Each runs for real, in a project that commands can write to and where nobody
// approves anything. None may create the file pwned, or print the word that the directory outside contains.
func TestReadersThatDoMore(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		outside := a.project + "-outside"
		t.Cleanup(func() { os.RemoveAll(outside) })
		a.sh(`outside=` + outside + `
			printf '#!/bin/sh\necho x >> '"$PWD"'/pwned\n' > evil; chmod +x evil
			echo 0123 > 5; mkdir d1 d2; : > d2/x
			mkdir $outside; echo beyond > $outside/x; git -C $outside init -q .
			git -C $outside -c user.name=a -c user.email=a@b commit -q --allow-empty -m beyond
			ln -s $outside link; ln -s $outside/x d1/x
			mkdir -p sub/deep; ln -s sub/deep into; echo inside > x; ln -s $outside/x sub/x
			git config user.name a; git config user.email a@b
			git add -A; git commit -qm one
			c=$(printf 'tree %s\nparent %s\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n\nsigned\n' $(git write-tree) $(git rev-parse HEAD) | git hash-object -t commit -w --stdin)
			git update-ref HEAD $c
			git checkout -qb side; echo side > x; git commit -qam side
			git checkout -q -; echo main > x; git commit -qam main
			git merge -q side || true; git commit -qam merged
			git config gpg.program "$PWD/evil"
			echo 'x merge=evil' > .git/info/attributes; git config merge.evil.driver "$PWD/evil %A"
			cp evil .git/hooks/post-index-change; rm -f pwned; touch -d yesterday x`)
		a.start("--mode", "strict")
		if got := a.sbx("trust", a.project); got.code != 0 {
			t.Fatal(got)
		}
		for _, line := range []string{
			`echo 'a;touch pwned' | sed 's/[[:alpha:]/]/g;s/e;/x/p'`,
			`git log --all --format='%h%+G?'`,
			`git log --all --format='%h%-GK'`,
			`git log -p --diff-merges=remerge`,
			`xxd -ac 5 pwned`,
			`git diff`,
			`git diff HEAD`,
			`git describe --always --dirty`,
			`git -C link log`,
			`cd -P into && cd .. && cat x`,
			`cat link/../*-outside/x`,
			`cat [!z]ink/x`,
		} {
			got := a.sbx("run", "-c", line)
			if _, err := os.Lstat(filepath.Join(a.project, "pwned")); err == nil {
				t.Errorf("%s\nmade a file, or ran a program that did\n%v", line, got)
				a.sh("rm -f pwned")
			}
			if strings.Contains(got.out, "beyond") {
				t.Errorf("%s\nprinted the word from outside the project\n%v", line, got)
			}
		}
	})
}
