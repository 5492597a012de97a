# Rebase, stash, bisect, cherry-pick, amend, gc, revert and tag.
for i in 1 2 3 4 5 6; do echo $i >> f; git add f; git commit -qm "c$i"; done
echo keep > keep
#run
git switch -q -c topic HEAD~2 && echo t > t && git add t && git commit -qm t && git rebase -q main && git log --format=%s | head -3
echo dirty >> f && git stash -q && git stash list | wc -l && git stash pop -q && git diff --stat | tail -1 && git stash -q
git bisect start HEAD HEAD~6 > /dev/null && git bisect run sh -c 'test $(wc -l < f) -lt 4' | grep -o 'is the first bad commit'; git bisect log | tail -1 | cut -d']' -f2; git bisect reset 2> /dev/null
git switch -q main && git cherry-pick topic > /dev/null && git commit -q --amend -m amended && git log --format=%s -1
git gc -q && git count-objects -v | grep -E '^(packs|count)' && git fsck 2>&1 | grep -c missing; git log --oneline | wc -l
git revert --no-edit HEAD > /dev/null && git log --format=%s -1 && git tag -m v1 v1 && git describe && git status --porcelain | wc -l
