// Where the program begins, and the two steps that C has no words for.
#include "launch.h"

#if defined(__x86_64__)
__asm__(
	".globl clone_on\n"
	"clone_on:\n" // flags in rdi, the stack's end in rsi, function in rdx, argument in rcx
	"	and $-16, %rsi\n"
	"	sub $16, %rsi\n"
	"	mov %rcx, (%rsi)\n"
	"	mov %rdx, 8(%rsi)\n"
	"	mov $56, %eax\n" // __NR_clone
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	xor %r8d, %r8d\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	xor %ebp, %ebp\n"
	"	pop %rdi\n"
	"	pop %rax\n"
	"	call *%rax\n"
	"	ud2\n");
#elif defined(__aarch64__)
__asm__(
	".globl clone_on\n"
	"clone_on:\n" // flags in x0, the stack's end in x1, function in x2, argument in x3
	"	and x1, x1, #-16\n"
	"	stp x2, x3, [x1, #-16]!\n"
	"	mov x2, xzr\n"
	"	mov x3, xzr\n"
	"	mov x4, xzr\n"
	"	mov x8, #220\n" // __NR_clone
	"	svc #0\n"
	"	cbz x0, 1f\n"
	"	ret\n"
	"1:	mov x29, xzr\n"
	"	ldp x2, x0, [sp], #16\n"
	"	blr x2\n"
	"	brk #1\n");
#endif

#if defined(__x86_64__)
__asm__(
	".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start\n");
#elif defined(__aarch64__)
__asm__(
	".globl _start\n"
	"_start:\n"
	"	mov x29, xzr\n"
	"	mov x30, xzr\n"
	"	mov x0, sp\n"
	"	and sp, x0, #-16\n"
	"	bl start\n");
#endif

// start gets the stack as execve(2) leaves it: the number of arguments, then the arguments.
__attribute__((used, noreturn)) void start(i64 *stack) { leave(launch((int)stack[0], (char **)(stack + 1))); }

// The compiler may call these for assignments and loops of its own.
void *memcpy(void *to, const void *from, size_t n) {
	u8 *t = to;
	for (const u8 *f = from; n > 0; n--)
		*t++ = *f++;
	return to;
}

void *memset(void *to, int value, size_t n) {
	for (u8 *t = to; n > 0; n--)
		*t++ = (u8)value;
	return to;
}
