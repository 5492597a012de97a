# Branches and a worktree inside the project.
echo one > f
#run
git switch -q -c topic && echo two >> f && git commit -qam two && git switch -q - && git merge -q topic && git branch -q -d topic && git branch --format='%(refname:short)'
git worktree add -q inner && git -C inner log --format=%s -1 && git worktree remove inner
git stash list; git rev-parse --abbrev-ref HEAD; git log --format=%s
