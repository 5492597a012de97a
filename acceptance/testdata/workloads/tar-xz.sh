# A tree of 2,000 files packed by tar and xz, unpacked, compared, moved and deleted.
mkdir src; for i in $(seq 2000); do mkdir -p src/$((i % 50)); seq $i > src/$((i % 50))/$i.txt; done; ln -s 0 src/link
#run
tar -cf - --sort=name src | xz -T2 -1 > src.tar.xz && mkdir out && tar -xJf src.tar.xz -C out && diff -r src out/src && find out -type f | wc -l
#ask find out -name '*0.txt' -exec rm {} + && mv out/src moved && find moved -type f -print0 | sort -z | xargs -0 cat | sha256sum && readlink moved/link
