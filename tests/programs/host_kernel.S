/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel of the host in traces of guests (tests/pt/qemu.c, host=): it enters the guest again and again. */
	.text
	.globl _text, _stext, enter_guest, leave_guest, _etext
_text:
_stext:
	.type enter_guest, @function
enter_guest:
	vmresume
	.size enter_guest, . - enter_guest
	.balign 16
	.type leave_guest, @function
leave_guest:
	jmp enter_guest
	.size leave_guest, . - leave_guest
	.balign 16
_etext:
	.section .note.GNU-stack, "", @progbits
