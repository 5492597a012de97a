# Branches, a worktree and a submodule inside the project.
git init -q --bare lib.git && git clone -q lib.git lib 2>/dev/null && (cd lib && git config user.name a &&
	git config user.email a@b && echo x > x && git add x && git commit -qm lib && git push -q) && rm -rf lib
echo one > f; printf 'lib.git\n' > .gitignore
#run
git switch -q -c topic && echo two >> f && git commit -qam two && git switch -q - && git merge -q topic && git branch -d topic
git worktree add -q inner && git -C inner log --format=%s -1 && git worktree remove inner
git -c protocol.file.allow=always submodule add -q ./lib.git sub && git commit -qm sub && git submodule status | cut -c43-45
git stash list; git rev-parse --abbrev-ref HEAD; git log --format=%s
