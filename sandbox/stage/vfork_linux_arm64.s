#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child goes on with the parent's stack; the way back is in the link register,
// which is each one's own.
TEXT ·vfork(SB), NOSPLIT|NOFRAME, $0-24
	MOVD	$220, R8 // clone(2)
	MOVD	flags+0(FP), R0
	MOVD	ZR, R1   // the parent's stack
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	SVC
	CMN	$4095, R0
	BCS	failed
	MOVD	R0, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET

failed:
	NEG	R0, R0
	MOVD	ZR, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
