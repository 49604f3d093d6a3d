/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_guests.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "perfdata/perfdata.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/table.h"

enum {
	MAX_GUESTS = 1024, /* later ones have no code: a recording may name any number of them */
	RELEASE_TEXT_MAX = 1 << 12,
};

struct guest {
	int32_t pid;
	struct file_mapping file;
	struct elf_file elf;
	uint64_t slide; /* from addresses in the file to the guest's */
	char *note;     /* NULL: it has code */
};

struct pt_guests {
	const struct symbolizer *places;
	const struct perfdata_guest_text *texts;
	size_t n_texts;
	VEC(struct guest) guests;
};

struct pt_guests *pt_guests_new(const struct symbolizer *places,
				const struct perfdata_guest_text *texts, size_t n_texts)
{
	struct pt_guests *g = xcalloc(1, sizeof(*g));

	g->places = places;
	g->texts = texts;
	g->n_texts = n_texts;
	return g;
}

void pt_guests_free(struct pt_guests *g)
{
	if (!g)
		return;
	vec_foreach (&g->guests, guest) {
		file_unmap(&guest->file);
		free(guest->note);
	}
	vec_fini(&g->guests);
	free(g);
}

void pt_guests_notes(const struct pt_guests *g, void (*note)(void *context, const char *sentence),
		     void *context)
{
	vec_foreach (&g->guests, guest)
		if (guest->note)
			note(context, guest->note);
}

/* ---- a guest's files ---- */

static bool close_file(struct guest *out)
{
	file_unmap(&out->file);
	out->file = (struct file_mapping){ 0 };
	return false;
}

static bool open_elf(const struct pt_guests *g, const char *path, struct guest *out)
{
	/* The guest's own /proc/kcore, through a network, is as large as its address space. */
	if (!file_is_regular(path) || symbolizer_map(g->places, path, &out->file, NULL) < 0)
		return false;
	if (elf_file_open(&out->elf, out->file.base, out->file.size, NULL) == 0)
		return true;
	return close_file(out);
}

/* The address of _text in a copy of /proc/kallsyms; 0: not there. */
static uint64_t text_in(const char *kallsyms)
{
	struct kallsyms k = { 0 };
	uint64_t text = 0;

	if (kallsyms && file_is_regular(kallsyms) && kallsyms_read(&k, kallsyms) == 0 &&
	    !k.is_hidden)
		text = k.text_addr;
	kallsyms_fini(&k);
	return text;
}

/* Of the guest's own mapping, or of one that names no guest. */
static uint64_t text_of_recording(const struct pt_guests *g, int32_t pid)
{
	uint64_t any = 0;

	for (size_t i = 0; i < g->n_texts; i++) {
		if (g->texts[i].machine_pid == pid)
			return g->texts[i].addr;
		any = g->texts[i].machine_pid ? any : g->texts[i].addr;
	}
	return any;
}

static bool open_kcore(const struct pt_guests *g, const char *kallsyms, struct guest *out)
{
	const char *slash = kallsyms ? strrchr(kallsyms, '/') : NULL;
	cleanup(free_at_exit) char *path = NULL;

	if (!kallsyms)
		return false;
	path = xasprintf("%.*skcore", slash ? (int)(slash + 1 - kallsyms) : 0, kallsyms);
	if (!open_elf(g, path, out))
		return false;
	return out->elf.type == ET_CORE || close_file(out);
}

static bool open_vmlinux(const struct pt_guests *g, const char *path, const char *kallsyms,
			 struct guest *out)
{
	struct code_segments segments = { 0 };
	uint64_t text = text_in(kallsyms);
	bool ok;

	text = text ? text : text_of_recording(g, out->pid);
	ok = text && open_elf(g, path, out);

	if (!ok)
		return false;
	ok = vmlinux_segments(&out->elf, &segments) || close_file(out);
	if (ok)
		out->slide = text - (segments.data[0].link_addr - segments.data[0].offset);
	code_segments_fini(&segments);
	return ok;
}

/* "Linux version 6.1.0-53-cloud-amd64 (…" in the guest's /proc/version. */
static bool open_vmlinux_below(const struct pt_guests *g, const char *folder, const char *kallsyms,
			       struct guest *out)
{
	static const char *const patterns[] = { "%s/usr/lib/debug/boot/vmlinux-%s",
						"%s/boot/vmlinux-%s",
						"%s/usr/lib/debug/lib/modules/%s/vmlinux",
						"%s/lib/modules/%s/build/vmlinux" };
	cleanup(free_at_exit) char *version = xasprintf("%s/proc/version", folder), *text = NULL;
	char release[128];

	if (!file_is_regular(version) ||
	    file_read_all(version, RELEASE_TEXT_MAX, &text, NULL) < 0 ||
	    sscanf(text, "Linux version %127[A-Za-z0-9._+~-]", release) != 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		char path[4096];

		/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table */
		snprintf(path, sizeof(path), patterns[i], folder, release);
		if (open_vmlinux(g, path, kallsyms, out))
			return true;
	}
	return false;
}

static void open_guest(const struct pt_guests *g, struct guest *guest)
{
	const struct symbolizer *s = g->places;
	cleanup(free_at_exit) char *folder = NULL, *below = NULL;
	const char *kallsyms = s->guest_kallsyms;

	if (s->guest_mount) {
		folder = xasprintf("%s/%" PRId32, s->guest_mount, guest->pid);
		below = xasprintf("%s/proc/kallsyms", folder);
		/* As for names: the guest's own files, or those that were given for all. */
		if (!kallsyms || access(below, R_OK) == 0)
			kallsyms = below;
	}
	if (open_kcore(g, kallsyms, guest) ||
	    (s->guest_vmlinux && open_vmlinux(g, s->guest_vmlinux, kallsyms, guest)) ||
	    (folder && open_vmlinux_below(g, folder, kallsyms, guest)))
		return;
	guest->note =
		xasprintf("the kernel's code of the guest that process %" PRId32 " runs is "
			  "missing and is not decoded: give a copy of its /proc/kallsyms "
			  "(--guestkallsyms) with a copy of its /proc/kcore beside it, or with "
			  "--guestvmlinux",
			  guest->pid);
}

static struct guest *guest_of(struct pt_guests *g, int32_t pid)
{
	struct guest *new;

	vec_foreach (&g->guests, guest)
		if (guest->pid == pid)
			return guest;
	if (g->guests.n == MAX_GUESTS)
		return NULL;
	new = vec_add(&g->guests);
	new->pid = pid;
	open_guest(g, new);
	return new;
}

size_t pt_guests_read(struct pt_guests *g, int32_t pid, uint64_t addr, uint8_t *out, size_t size)
{
	const struct guest *guest = guest_of(g, pid);
	struct reader bytes;

	if (!guest || !guest->file.base)
		return 0;
	bytes = elf_bytes_at(&guest->elf, addr - guest->slide);
	size = MIN(size, reader_left(&bytes));
	if (size)
		memcpy(out, bytes.at, size);
	return size;
}
