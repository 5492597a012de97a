# cJSON from its Debian source package: cmake, make and ctest.
#debian cjson
#run
mkdir build && cd build && cmake .. > /dev/null 2>&1 && make -s > /dev/null 2>&1 && ls *.so
cd build && ctest | grep -o '.*tests passed.*'
