#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child goes on with the parent's stack and writes over what lies below the
// caller's frame, so the way back is kept in a register, which is each one's own.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	$56, AX // clone(2)
	MOVQ	flags+0(FP), DI
	XORL	SI, SI  // the parent's stack
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $-4095
	JCC	failed
	MOVQ	AX, pid+8(FP)
	MOVQ	$0, errno+16(FP)
	RET

failed:
	NEGQ	AX
	MOVQ	$0, pid+8(FP)
	MOVQ	AX, errno+16(FP)
	RET
