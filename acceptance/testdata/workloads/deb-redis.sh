# Redis from its Debian source package: built, and a part of its own tests, with servers.
#debian redis
#run
make -s -j2 MALLOC=libc > /dev/null 2>&1; src/redis-server --version | cut -d ' ' -f 1-3
./runtest --single unit/type/hash --single unit/type/list 2>&1 | grep -o 'All tests passed without errors'
