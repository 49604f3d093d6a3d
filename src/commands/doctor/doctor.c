/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "commands/doctor/doctor_checks.h"
#include "report/header.h"

struct doctor_args {
	const char *format;
	bool verbose;
};

#define FIELD(f) offsetof(struct doctor_args, f)
static const struct option_spec doctor_options[] = {
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "what to print",
	  .choices = "text|json" },
	{ 'v', "verbose", NULL, OPT_FLAG, FIELD(verbose), NULL,
	  "explain the checks that are ok, too" },
};

static const char *const reach_texts[] = {
	[REACH_MACHINE] = "the whole machine, kernel included",
	[REACH_NAMESPACE] = "this pid namespace, kernel included (of others: how much they run)",
	[REACH_OWN_KERNEL] = "your own processes, kernel included",
	[REACH_OWN] = "your own processes, in user mode only",
	[REACH_NOTHING] = "nothing",
};
static const char *const reach_keys[] = {
	[REACH_MACHINE] = "machine",       [REACH_NAMESPACE] = "namespace",
	[REACH_OWN_KERNEL] = "own-kernel", [REACH_OWN] = "own",
	[REACH_NOTHING] = "nothing",
};

/* Colours of a terminal by state; none elsewhere, nor where NO_COLOR asks for none. */
struct look {
	const char *states[3], *bold, *off;
	int width;
};

static struct look choose_look(void)
{
	static const struct look plain = { { "", "", "" }, "", "", 80 };
	static const struct look coloured = {
		{ "\033[32m", "\033[33m", "\033[31m" }, "\033[1m", "\033[m", 80
	};
	const char *no_color = getenv("NO_COLOR");
	struct winsize size;
	struct look look;

	if (!isatty(STDOUT_FILENO))
		return plain;
	look = no_color && *no_color ? plain : coloured;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		look.width = MIN(MAX(size.ws_col, 60), 110);
	return look;
}

#define NAME_WIDTH  19
#define STATE_WIDTH 9
#define INDENT      (2 + NAME_WIDTH + STATE_WIDTH)

/* Sentences, broken between words. */
static void print_wrapped(const char *text, int width)
{
	while (*text) {
		int room = width - INDENT, n = (int)strlen(text);

		if (n > room) {
			for (n = room; n > 0 && text[n] != ' ';)
				n--;
			if (n == 0)
				n = (int)strcspn(text, " ");
		}
		printf("%*s%.*s\n", INDENT, "", n, text);
		text += n;
		text += strspn(text, " ");
	}
}

static void print_check(const struct check *check, const struct finding *f, bool verbose,
			const struct look *look)
{
	printf("  %-*s%s%-*s%s%s\n", NAME_WIDTH, check->name, look->states[f->state], STATE_WIDTH,
	       probe_state_keys[f->state], look->off, f->text);
	if (f->state == PROBE_OK && !verbose)
		return;
	print_wrapped(f->meaning, look->width);
	/* Not wrapped: it is there to be pasted. */
	if (*f->command)
		printf("%*s%s$ %s%s\n", INDENT, "", look->bold, f->command, look->off);
}

static const char *event_text(const struct probe_scope *scope)
{
	return scope->has_hardware ? "cycles" : "the cpu-clock timer";
}

static void print_text(const struct probe_machine *m, const struct probe_scope *scope, bool verbose)
{
	struct look look = choose_look();

	printf("%sYou can profile: %s", look.bold, reach_texts[scope->reach]);
	if (scope->reach != REACH_NOTHING)
		printf(", by %s", event_text(scope));
	printf(".%s\n\n", look.off);
	for (const struct check *check = checks; check->name; check++) {
		struct finding f = { 0 };

		check->probe(m, &f);
		print_check(check, &f, verbose, &look);
	}
}

static json_t *check_json(const struct probe_machine *m, const struct check *check)
{
	struct finding f = { 0 };

	check->probe(m, &f);
	return json_pack("{s:s, s:s, s:o, s:s, s:o}", "name", check->name, "state",
			 probe_state_keys[f.state], "finding", json_text(f.text), "meaning",
			 f.meaning, "command", json_text(f.command));
}

static void print_json(const struct probe_machine *m, const struct probe_scope *scope)
{
	json_t *list = json_array(), *top;

	for (const struct check *check = checks; check->name; check++)
		json_array_append_new(list, check_json(m, check));
	top = json_pack("{s:s, s:s, s:o}", "reach", reach_keys[scope->reach], "event",
			scope->has_hardware ? "cycles" : "cpu-clock", "checks", list);
	json_dumpf(top, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(top);
}

static int doctor_run(const struct command *self, int argc, char **argv)
{
	struct doctor_args args = { 0 };
	struct option_list operands = { 0 };
	struct probe_machine machine;
	struct probe_scope scope;
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0 && operands.n) {
		log_error("doctor: '%s' is too much; it takes options only", operands.data[0]);
		status = EXIT_USAGE;
	}
	option_list_fini(&operands);
	if (status >= 0)
		return status;
	probe_machine_init(&machine, NULL);
	scope = probe_scope(&machine);
	if (!strcmp(args.format, "json"))
		print_json(&machine, &scope);
	else
		print_text(&machine, &scope, args.verbose);
	return scope.reach == REACH_NOTHING ? EXIT_FAILED : EXIT_OK;
}

static const struct command_section doctor_sections[] = {
	{ "STATES", "*ok*: nothing is in the way.\n\n*limited*: works in part. The lines below "
		    "name the gaps.\n\n*missing*: does not work here." },
	{ "EXIT STATUS", "0 if something can be profiled, 1 if nothing can, 2 for wrong usage." },
	{ NULL, NULL },
};

static const struct command_example doctor_examples[] = {
	{ "assay doctor", "what works for you, and how to change the rest" },
	{ "sudo assay doctor", "what works for root" },
	{ "assay doctor --format json | jq -r '.checks[] | select(.state != \"ok\").name'",
	  "the names of checks that are not ok" },
	{ NULL, NULL },
};

const struct command doctor_command = {
	.name = "doctor",
	.summary = "show what this machine permits, and how to permit more",
	.synopsis = "[OPTIONS]",
	.description =
		"Tries everything that profiling needs, with your permissions: it opens hardware "
		"counters instead of looking them up. The first line names the things that you "
		"can profile. Then comes a line for each check. For a check that is not ok, it "
		"shows the meaning, and one command that you can paste to change it.\n\nNothing "
		"is changed, and nothing is sent anywhere.",
	.options = OPTIONS(doctor_options),
	.sections = doctor_sections,
	.examples = doctor_examples,
	.run = doctor_run,
};
