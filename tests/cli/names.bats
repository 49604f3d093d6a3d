#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions for people, from the names that compilers write into symbol tables.
load helpers

# program_with NAME: ./app is a C program that is busy in a function of that name in the symbol table, until it is killed.
program_with() {
	cat >app.c <<-END
		void busy(void) __asm__("$1");
		__attribute__((noinline)) void busy(void) { for (volatile int i = 0; i < 1000000; i++); }
		int main(void) { for (;;) busy(); }
	END
	"${CC_FOR_TEST:-gcc}" -O1 app.c -o app
}

@test "a symbol of D does not end the report" {
	need_recording
	local name=_D3std9algorithm7sorting__T13quickSortImplS1d4mainFZ16__lambda_L8_C277TAAyaZQBxMFNaNbNiNfQsmZv
	program_with "$name"
	record_samples 20 s '' -- ./app
	assay report -i s -l >list
	has 'quickSortImpl' list
}
