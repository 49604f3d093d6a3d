/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/host.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "pipeline/heap_events.h"
#include "pipeline/off_cpu.h"

/* x86 has "model name"; other architectures may have "Processor", "cpu model" or nothing. */
static void read_cpu_model(char *model, size_t size)
{
	static const char *const keys[] = { "model name", "Processor", "cpu model", "CPU part" };
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	snprintf(model, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		for (size_t i = 0; colon && i < ARRAY_SIZE(keys); i++) {
			if (strncmp(line, keys[i], strlen(keys[i])))
				continue;
			snprintf(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
			fclose(f);
			return;
		}
	}
	if (f)
		fclose(f);
}

static struct counter_info describe_counter(const struct counter *c)
{
	return (struct counter_info){
		.name = c->name,
		.spec = c->spec,
		.unit = c->unit,
		.freq_hz = c->attr.freq ? c->attr.sample_freq : 0,
		.count = c->attr.freq ? 0 : c->attr.sample_period,
		.unit_mask = c->unit_mask,
		.in_user = !c->attr.exclude_user,
		.in_kernel = !c->attr.exclude_kernel,
	};
}

void host_init(struct host *h, const struct counters *counters, uint32_t n_waits,
	       uint64_t alloc_mean_bytes)
{
	struct utsname u;

	*h = (struct host){ .n_counters = (uint32_t)counters->n };
	uname(&u);
	snprintf(h->hostname, sizeof(h->hostname), "%s", u.nodename);
	snprintf(h->os_release, sizeof(h->os_release), "%s %s", u.sysname, u.release);
	snprintf(h->arch, sizeof(h->arch), "%s", u.machine);
	read_cpu_model(h->cpu_model, sizeof(h->cpu_model));
	h->counters = xcalloc(counters->n + n_waits + N_HEAP_EVENTS, sizeof(*h->counters));
	for (size_t i = 0; i < counters->n; i++)
		h->counters[i] = describe_counter(&counters->data[i]);
	if (n_waits) {
		off_cpu_describe(h->counters + h->n_counters, n_waits);
		h->n_counters += n_waits;
	}
	if (alloc_mean_bytes) {
		heap_events_describe(h->counters + h->n_counters, alloc_mean_bytes);
		h->n_counters += N_HEAP_EVENTS;
	}
}

void host_fini(struct host *h)
{
	free(h->counters);
	h->counters = NULL;
}

static void quote_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%^";

	if (*word && strspn(word, plain) == strlen(word)) {
		buf_str(out, word);
		return;
	}
	buf_u8(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_str(out, "'\\''");
		else
			buf_u8(out, (uint8_t)*word);
	}
	buf_u8(out, '\'');
}

char *quote_command(char *const argv[])
{
	struct buf b = { 0 };

	for (size_t i = 0; argv && argv[i]; i++) {
		if (i)
			buf_u8(&b, ' ');
		quote_word(&b, argv[i]);
	}
	buf_cstr(&b);
	return (char *)b.data;
}
