# A makefile with a library, a program and a test of it, in parallel, from scratch and again.
printf 'CFLAGS = -O1\nall: m\nlib.a: a.o b.o\n\tar rcs $@ $^\nm: m.o lib.a\ncheck: m\n\t./m\nclean:\n\trm -f *.o *.a m\n' > Makefile
echo 'int a(void) { return 40; }' > a.c; echo 'int b(void) { return 2; }' > b.c
printf '#include <stdio.h>\nint a(void), b(void);\nint main(void) { printf("%%d\\n", a() + b()); return 0; }\n' > m.c
#run
make -s -j2 && make -s check
touch b.c && make -j2 | wc -l && make -s clean && ls
