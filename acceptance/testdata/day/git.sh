echo one > f1.txt; echo two > f2.txt; git branch -M main; git add -A; git commit -qm base
git branch topic; echo three >> f2.txt; git commit -qam more; echo four >> f1.txt
