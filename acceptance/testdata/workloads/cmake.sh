# cmake and ctest.
printf 'cmake_minimum_required(VERSION 3.10)\nproject(m C)\nenable_testing()\nadd_executable(m m.c)\nadd_test(NAME runs COMMAND m)\n' > CMakeLists.txt
printf 'int main(void) { return 0; }\n' > m.c
#run
cmake -S . -B build > cmake.log && cmake --build build > /dev/null && ctest --test-dir build 2>&1 | grep 'tests passed'
