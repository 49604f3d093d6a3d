/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a file of Perl, which has threads. Without -fPIC, it has a copy of PL_thr_key. */
#include <EXTERN.h>
#include <perl.h>

int main(int argc, char **argv, char **environment)
{
	PerlInterpreter *interpreter;

	PERL_SYS_INIT3(&argc, &argv, &environment);
	interpreter = perl_alloc();
	perl_construct(interpreter);
	perl_parse(interpreter, NULL, argc, argv, NULL);
	return pthread_getspecific(PL_thr_key) != interpreter || perl_run(interpreter);
}
