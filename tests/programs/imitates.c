/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that looks like CPython 3.11 to assay, and is not: it exports the symbols that assay
 * looks for, and its loop is "the interpreter". `imitates HOW` runs for ever.
 *
 *   state    its thread has no state
 *   none     its thread has a state without frames
 *   circle   the frames of its thread are a circle, and its texts and line table have 2^63 bytes
 *   type     its frames have code objects of another type
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define WORDS 64

const uint32_t Py_Version = 0x030b02f0;
uint64_t PyCode_Type[WORDS];
pthread_key_t key;

void PyGILState_GetThisThreadState(void);
void _PyEval_EvalFrameDefault(void);

__asm__(".pushsection .text\n"
	".globl PyGILState_GetThisThreadState\n"
	".type PyGILState_GetThisThreadState, @function\n"
	"PyGILState_GetThisThreadState:\n"
	"	mov key(%rip), %edi\n"
	"	ret\n"
	".size PyGILState_GetThisThreadState, . - PyGILState_GetThisThreadState\n"
	".popsection\n");

volatile unsigned int rounds;

__attribute__((noinline)) static void count(void)
{
	for (int i = 0; i < 1000; i++)
		rounds++;
}

__attribute__((noinline)) void _PyEval_EvalFrameDefault(void)
{
	for (;;)
		count();
}

/* Offsets are those of 3.11, in words (src/lang/python.c). */
static uint64_t thread[WORDS], cframe[WORDS], frame[WORDS], code[WORDS], text[WORDS], table[WORDS];

static void make_frames(int has_type)
{
	thread[56 / 8] = (uintptr_t)cframe;
	thread[152 / 8] = pthread_self();
	cframe[8 / 8] = (uintptr_t)frame;
	frame[32 / 8] = (uintptr_t)code;
	frame[48 / 8] = (uintptr_t)frame;
	frame[56 / 8] = (uintptr_t)code + 184 + 2;
	code[8 / 8] = has_type ? (uintptr_t)PyCode_Type : (uintptr_t)text;
	code[72 / 8] = 7;
	code[112 / 8] = code[128 / 8] = (uintptr_t)text;
	code[136 / 8] = (uintptr_t)table;
	text[16 / 8] = table[16 / 8] = 1ULL << 63;
	text[32 / 8] = 1 << 2 | 1 << 5 | 1 << 6; /* one byte a character, compact, ASCII */
	memset(&text[48 / 8], 'n', sizeof(text) - 48);
	pthread_setspecific(key, thread);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	pthread_key_create(&key, NULL);
	if (strcmp(how, "state") != 0)
		make_frames(!strcmp(how, "circle"));
	if (!strcmp(how, "none"))
		cframe[8 / 8] = 0;
	_PyEval_EvalFrameDefault();
	return 0;
}
