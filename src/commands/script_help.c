/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/script_help.h"

#include "open/input.h"
#include "trace/branch_filter.h"
#include "trace/itrace.h"

const struct command_section script_sections[] = {
	{ "TIMES", input_times_help },
	{ "FIELDS",
	  "*comm*, *pid*, *tid*, *cpu*, *time*, *event*, *period*\n\tfacts of the sample\n\n"
	  "*ip*\n\tthe address, and with it *sym*, *symoff*, *dso* and *srcline*\n\n"
	  "*trace*\n\tthe text of a tracepoint, in its own format\n\n"
	  "*addr*\n\tthe address of the data, with its name for page faults\n\n"
	  "*brstack*, *brstacksym*, *brstackoff*\n\tthe branch stack as addresses, as names, or "
	  "as offsets in images\n\n"
	  "*iregs*, *uregs*\n\tregisters\n\n"
	  "*misc*\n\tK for a sample in the kernel, U for user code\n\n"
	  "*tod*\n\tthe time of day, if two clocks were recorded\n\n"
	  "*samples*\n\tof a session: the number of samples in the line\n\n"
	  "*data_src*, *weight*, *phys_addr*, *data_page_size*, *code_page_size*, *cgroup*, "
	  "*transaction*\n\tas recorded\n\n"
	  "*flags*, *ipc*, *insn*, *disasm*, *synth*, *callindent*\n\tof a processor trace: the "
	  "kind of a branch; instructions and cycles since the last sample that had them; the "
	  "bytes of an instruction; its assembly; CBR, PTWRITE, power and PSB; the called "
	  "function, indented by depth\n\n"
	  "Without *-F*, a line shows the fields of perf script. A default field that the samples "
	  "do not have is left out. If you ask for a field that the samples do not have, this is "
	  "an "
	  "error." },
	{ "ITRACE",
	  "A processor trace (Intel PT) in a perf.data file becomes samples and events among the "
	  "others. Letters choose them:\n\n"
#define LETTER(letter, field, argument, help) "*" #letter "*\n\t" help "\n\n"
	  ITRACE_LETTERS(LETTER)
#undef LETTER
		  "*--itrace=i100usg32le-o* is an instructions sample each 100 µs with call chains "
		  "of up to "
		  "32 and last branches, and errors other than overflows. *i0ns* is every "
		  "instruction. The "
		  "period of a sample is the number of instructions since the one before." },
	{ "BRANCHES",
	  "*--filter* chooses among the branches of a processor trace, in every command that "
	  "decodes one. Its text is a list of TAG:VALUE[,VALUE…] with blanks between them. Values "
	  "of "
	  "one tag are alternatives, and all tags must match. *TAG-exclude:* matches the other "
	  "branches. GLOBs are as in a shell. A backslash makes the next blank or comma a part of "
	  "the value.\n\n"
#define TAG(id, tag, end, fact, value, help) "*" tag ":*_" value "_\n\t" help "\n\n"
	  BRANCH_TAGS(TAG)
#undef TAG
		  "Samples and events that are no branches stay. Refused branches count in the "
		  "cycles of the next branch that is shown, and in the depth of calls. In a "
		  "report, "
		  "the default of *--itrace* is then *be*." },
	{ "SESSIONS",
	  "Of a recording (perf.data) each sample is a line, as perf has it. So it is "
	  "of a session of *assay record*. A session of *assay daemon* has its samples added up. "
	  "A line is all samples of one thread, CPU, event and stack in one second. Its time is "
	  "that of the second's first sample, and *samples* is their number. Addresses of "
	  "sessions are offsets in their images." },
	{ "EXIT STATUS", "0 if all was printed; 1 if the input could not be read or is damaged "
			 "(after all readable samples); 2 for wrong usage." },
	{ NULL, NULL },
};
