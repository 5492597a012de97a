# LZO from its Debian source package: configure, make and its own tests.
#debian lzo2
#run
./configure > /dev/null && make -s > /dev/null 2>&1 && ls src/*.la
make check 2>&1 | grep -o 'All checks passed'
make test | grep -o 'All tests passed'
