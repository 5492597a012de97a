mkdir -p dist src && printf 'cmake_minimum_required(VERSION 3.10)\nproject(ring C)\nadd_executable(t t.c)\n' > CMakeLists.txt
printf 'int main(void) { return 0; }\n' > t.c; cp t.c src; printf '/t\n/build\n' > .gitignore
printf 't: t.c\n\t$(CC) -g -o t t.c\ntest: t\n\t./t\n' > Makefile
printf '#!/bin/sh\necho configured > config.log\n' > configure; chmod +x configure
tar czf dist/ring-1.0.tar.gz src
