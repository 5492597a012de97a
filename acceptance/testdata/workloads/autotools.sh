# autoreconf, configure, make and make check.
printf 'AC_INIT([m], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' > configure.ac
printf 'bin_PROGRAMS = m\nm_SOURCES = m.c\nTESTS = m\n' > Makefile.am
printf '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n' > m.c
#run
autoreconf -i > /dev/null 2>&1 && ./configure --prefix=/usr > /dev/null && make -s && ./m
make check 2>&1 | grep '^# PASS'
