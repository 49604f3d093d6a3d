/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/kernel_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/proc_modules.h"
#include "elf/elf_file.h"

/*
 * The span of the kernel's text with its initial sections, if /proc/iomem doesn't say. The kernel's
 * image has at most 1 GiB of address space on x86-64 (KERNEL_IMAGE_SIZE), and far less on AArch64.
 */
#define KERNEL_TEXT_SPAN    ((uint64_t)512 << 20)
#define STEXT_MAX           0x10000       /* _stext is this far behind _text, at most */
#define MODULES_REREAD_NS   NS_PER_SECOND /* at the latest, while the kernel has samples */
#define MODULES_SOON_NS     10000000ULL   /* for an address that nothing covers, at first */
#define KALLSYMS_HEAD_BYTES ((size_t)1 << 20)
#define BPF_PROGRAMS_MAX    100000

/*
 * An address belongs to the last range that starts before it, because the kernel's size of a module
 * counts all its memory. Since Linux 6.4 a module's data lies elsewhere. Since 6.13
 * (ARCH_HAS_EXECMEM_ROX), the next module's code may start right behind its code.
 */
struct range {
	uint64_t start, end;
	uint64_t known_end; /* up to here, code was the module's own when the list was read */
	image_id image;
	char *name;   /* of BPF programs and trampolines; NULL for modules */
	bool is_gone; /* late samples still belong to it, until its space is used again */
};

struct kernel_map {
	struct image_table *images;
	char *proc, *sys;
	bool is_loaded, is_offline;
	bool is_other;       /* offline, and not the kernel that runs here */
	char *release;       /* offline */
	uint64_t text;       /* address of _text; 0: hidden or not readable */
	uint64_t start, end; /* the kernel's own range */
	image_id image;      /* of the kernel's text */
	bool has_image;
	image_id unlisted; /* of code that none of the kernel's lists has */
	bool has_unlisted;
	uint64_t modules_read_ns, modules_soon_ns;
	char *modules;            /* the list as last read */
	VEC(struct range) ranges; /* modules and programs, by start; no two have one start */
};

struct kernel_map *kernel_map_new(struct image_table *images, const char *proc, const char *sys)
{
	struct kernel_map *k = xcalloc(1, sizeof(*k));

	k->images = images;
	k->proc = xstrdup(proc);
	k->sys = xstrdup(sys);
	k->modules_soon_ns = MODULES_SOON_NS;
	return k;
}

struct kernel_map *kernel_map_new_offline(struct image_table *images, const char *release)
{
	struct kernel_map *k = kernel_map_new(images, "/proc", "");
	struct utsname here;

	k->is_loaded = k->is_offline = true;
	k->release = xstrdup(release ? release : "");
	k->is_other = uname(&here) < 0 || strcmp(here.release, k->release);
	return k;
}

void kernel_map_free(struct kernel_map *k)
{
	if (!k)
		return;
	vec_foreach (&k->ranges, r)
		free(r->name);
	vec_fini(&k->ranges);
	free(k->modules);
	free(k->release);
	free(k->proc);
	free(k->sys);
	free(k);
}

/* The first range that starts at addr, or behind it. */
static size_t range_lower(const struct kernel_map *k, uint64_t addr)
{
	size_t low = 0, high = k->ranges.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->ranges.data[mid].start < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The range that starts at addr; NULL. */
static struct range *range_at(struct kernel_map *k, uint64_t addr)
{
	size_t at = range_lower(k, addr);

	return at < k->ranges.n && k->ranges.data[at].start == addr ? &k->ranges.data[at] : NULL;
}

static void range_remove(struct kernel_map *k, size_t at)
{
	free(k->ranges.data[at].name);
	memmove(k->ranges.data + at, k->ranges.data + at + 1,
		(k->ranges.n - at - 1) * sizeof(*k->ranges.data));
	k->ranges.n--;
}

/* A new range replaces ranges that have gone from its space. */
static void range_add(struct kernel_map *k, uint64_t start, uint64_t size, image_id image,
		      const char *name)
{
	size_t at = range_lower(k, start);

	if (!size || start + size < start)
		return;
	for (size_t i = at; i < k->ranges.n && k->ranges.data[i].start < start + size;)
		if (k->ranges.data[i].is_gone || k->ranges.data[i].start == start)
			range_remove(k, i);
		else
			i++;
	vec_reserve(&k->ranges, k->ranges.n + 1);
	memmove(k->ranges.data + at + 1, k->ranges.data + at,
		(k->ranges.n - at) * sizeof(*k->ranges.data));
	k->ranges.data[at] = (struct range){
		.start = start,
		.end = start + size,
		.known_end = name || k->is_offline ? start + size : start,
		.image = image,
		.name = name ? xstrdup(name) : NULL,
	};
	k->ranges.n++;
}

static struct build_id build_id_of_notes(const char *path)
{
	cleanup(free_at_exit) char *notes = NULL;
	struct build_id id = { 0 };
	size_t size;

	if (file_read_all(path, 1 << 20, &notes, &size) == 0)
		elf_build_id_in_notes(reader_over(notes, size), 4, &id);
	return id;
}

image_id kernel_map_image(struct kernel_map *k)
{
	if (!k->has_image) {
		cleanup(free_at_exit) char *notes = xasprintf("%s/kernel/notes", k->sys);
		struct image image = { .kind = IMAGE_KERNEL, .path = "[kernel]" };

		if (!k->is_offline)
			image.build_id = build_id_of_notes(notes);
		k->image = image_intern(k->images, &image);
		k->has_image = true;
	}
	return k->image;
}

static image_id module_image(struct kernel_map *k, const char *name)
{
	cleanup(free_at_exit) char *notes =
		xasprintf("%s/module/%s/notes/.note.gnu.build-id", k->sys, name);
	cleanup(free_at_exit) char *path = xasprintf("[%s]", name);
	struct image image = { .kind = IMAGE_MODULE, .path = path };

	image.build_id = build_id_of_notes(notes);
	return image_intern(k->images, &image);
}

/* The module's range if the list had it before, at this place, whatever its use count. */
static struct range *known_module(struct kernel_map *k, const struct proc_module *m)
{
	struct range *r = range_at(k, m->addr);
	size_t len = strlen(m->name);
	const char *path;

	if (!r || r->end != m->addr + m->size || r->name)
		return NULL;
	path = image_get(k->images, r->image)->path;
	return path[0] == '[' && !strncmp(path + 1, m->name, len) && path[len + 1] == ']' ? r
											  : NULL;
}

/* Drops modules that have gone, then adds new ones. True if one is new, or elsewhere. */
static bool update_modules(struct kernel_map *k, const char *text)
{
	VEC(struct proc_module) added = { 0 };
	struct proc_module m;
	bool has_new;

	vec_foreach (&k->ranges, r)
		r->is_gone |= !r->name;
	while (proc_modules_next(&text, &m)) {
		struct range *known = known_module(k, &m);

		if (known)
			known->is_gone = false;
		else
			vec_push(&added, m);
	}
	vec_foreach (&added, module)
		range_add(k, module->addr, module->size, module_image(k, module->name), NULL);
	has_new = added.n > 0;
	vec_fini(&added);
	return has_new;
}

/* True if a module is new, or elsewhere than it was. */
static bool read_modules(struct kernel_map *k, uint64_t time_ns)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/modules", k->proc);
	cleanup(free_at_exit) char *text = NULL;

	k->modules_read_ns = time_ns;
	if (file_read_all(path, PROC_MODULES_BYTES, &text, NULL) < 0 ||
	    (k->modules && !strcmp(text, k->modules)))
		return false;
	free(k->modules);
	k->modules = xstrdup(text);
	return update_modules(k, text);
}

/* The address of a function in lines of kallsyms; 0 if addresses are hidden. False: not found. */
static bool find_address(const char *lines, const char *name, uint64_t *addr)
{
	cleanup(free_at_exit) char *global = xasprintf(" T %s\n", name);
	const char *at = strstr(lines, global);

	global[1] = 't';
	if (!at)
		at = strstr(lines, global);
	while (at && at > lines && at[-1] != '\n')
		at--;
	if (at)
		*addr = strtoull(at, NULL, 16);
	return at;
}

/*
 * _text is the first address of the kernel's image. It is among the first symbols, because the list
 * is in link order; the rest of the 10 MB is not read.
 */
static uint64_t read_text_address(const char *proc)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kallsyms", proc);
	cleanup(free_at_exit) char *head = xmalloc(KALLSYMS_HEAD_BYTES + 1);
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	if (fd < 0)
		return 0;
	while (len < KALLSYMS_HEAD_BYTES) {
		ssize_t n = read(fd, head + len, KALLSYMS_HEAD_BYTES - len);
		uint64_t addr;

		if (n <= 0)
			break;
		len += (size_t)n;
		head[len] = '\0';
		if (find_address(head, "_text", &addr))
			return addr;
		if (find_address(head, "_stext", &addr))
			return addr ? kernel_text_of_stext(addr) : 0;
	}
	return 0;
}

/*
 * The bytes of the kernel's image, from its lines in /proc/iomem ("Kernel code", "Kernel data"…).
 * These addresses are physical, but as far apart as in the address space. 0: not known. Modules can
 * lie behind the image.
 */
static uint64_t read_image_size(const char *proc)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/iomem", proc);
	cleanup(free_at_exit) char *text = NULL;
	uint64_t first = UINT64_MAX, last = 0;
	char *rest;

	if (file_read_all(path, PROC_MODULES_BYTES, &text, NULL) < 0)
		return 0;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		uint64_t from, to;

		if (strstr(line, " : Kernel ") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2) {
			first = MIN(first, from);
			last = MAX(last, to);
		}
	}
	return last > first ? last - first + 1 : 0;
}

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* Adds one program's JIT-compiled functions. Needs CAP_BPF; without it, there are none. */
static void add_bpf_program(struct kernel_map *k, int fd)
{
	enum { MAX_FUNCTIONS = 256 };
	static uint64_t addrs[MAX_FUNCTIONS];
	static uint32_t sizes[MAX_FUNCTIONS];
	struct bpf_prog_info info = {
		.jited_ksyms = (uintptr_t)addrs,
		.nr_jited_ksyms = MAX_FUNCTIONS,
		.jited_func_lens = (uintptr_t)sizes,
		.nr_jited_func_lens = MAX_FUNCTIONS,
	};
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd,
					  .info_len = sizeof(info),
					  .info = (uintptr_t)&info } };
	char name[96];
	int n;

	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) < 0)
		return;
	n = snprintf(name, sizeof(name), "bpf_prog_");
	for (int i = 0; i < BPF_TAG_SIZE; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", info.tag[i]);
	snprintf(name + n, sizeof(name) - (size_t)n, "_%s", info.name);
	for (uint32_t i = 0; i < MIN(info.nr_jited_ksyms, MAX_FUNCTIONS); i++)
		if (addrs[i])
			kernel_map_symbol(k, addrs[i], sizes[i], true, false, name);
}

static void read_bpf_programs(struct kernel_map *k)
{
	union bpf_attr attr = { 0 };

	for (int i = 0; i < BPF_PROGRAMS_MAX && sys_bpf(BPF_PROG_GET_NEXT_ID, &attr) == 0; i++) {
		union bpf_attr open_attr = { .prog_id = attr.next_id };
		int fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &open_attr);

		attr.start_id = attr.next_id;
		if (fd < 0)
			continue;
		add_bpf_program(k, fd);
		close(fd);
	}
}

static void kernel_map_load(struct kernel_map *k, uint64_t time_ns)
{
	uint64_t image_size;

	k->is_loaded = true;
	k->text = read_text_address(k->proc);
	k->start = k->text;
	image_size = read_image_size(k->proc);
	/* "Kernel code" may begin at _stext. */
	k->end = k->text + (image_size ? image_size + STEXT_MAX : KERNEL_TEXT_SPAN);
	kernel_map_image(k);
	if (!k->text)
		return;
	read_modules(k, time_ns);
	read_bpf_programs(k);
}

/* The range that covers addr; NULL. */
static struct range *range_over(const struct kernel_map *k, uint64_t addr)
{
	size_t at = range_lower(k, addr + 1);

	return at && addr < k->ranges.data[at - 1].end ? &k->ranges.data[at - 1] : NULL;
}

/*
 * An address behind a module's known code may belong to a module that was loaded since, so the list
 * is read again. This is rare: few addresses are the highest of their module so far.
 */
static struct range *range_now(struct kernel_map *k, uint64_t addr, uint64_t time_ns)
{
	struct range *r = range_over(k, addr);

	if (!r || addr < r->known_end || r->is_gone)
		return r;
	if (time_ns > k->modules_read_ns) {
		read_modules(k, time_ns);
		r = range_over(k, addr);
	}
	if (r)
		r->known_end = MAX(r->known_end, addr + 1);
	return r;
}

static bool range_resolve(struct kernel_map *k, uint64_t addr, uint64_t time_ns,
			  struct code_addr *out)
{
	const struct range *r = range_now(k, addr, time_ns);

	if (r) {
		*out = (struct code_addr){ r->image, addr - r->start };
		return true;
	}
	if (!k->text || addr < k->start || addr >= k->end)
		return false;
	*out = (struct code_addr){ k->image, addr - k->text };
	return true;
}

/* Code that none of the kernel's lists has. Of such code, the addresses mean nothing later. */
static bool unlisted_resolve(struct kernel_map *k, uint64_t addr, struct code_addr *out)
{
	static const struct image image = { .kind = IMAGE_BPF, .path = IMAGE_UNLISTED_PATH };

	if (!(addr >> 63))
		return false;
	if (!k->has_unlisted)
		k->unlisted = image_intern(k->images, &image);
	k->has_unlisted = true;
	*out = (struct code_addr){ k->unlisted, 0 };
	return true;
}

bool kernel_map_resolve(struct kernel_map *k, uint64_t addr, uint64_t time_ns,
			struct code_addr *out)
{
	if (!k->is_loaded)
		kernel_map_load(k, time_ns);
	if (k->is_offline || !k->text)
		return range_resolve(k, addr, time_ns, out);
	if (time_ns >= k->modules_read_ns + MODULES_REREAD_NS)
		read_modules(k, time_ns);
	if (range_resolve(k, addr, time_ns, out))
		return true;
	if (time_ns < k->modules_read_ns + k->modules_soon_ns)
		return unlisted_resolve(k, addr, out);
	k->modules_soon_ns = read_modules(k, time_ns)
				     ? MODULES_SOON_NS
				     : MIN(2 * k->modules_soon_ns, MODULES_REREAD_NS);
	return range_resolve(k, addr, time_ns, out) || unlisted_resolve(k, addr, out);
}

bool kernel_map_is_hidden(const struct kernel_map *k)
{
	return k->is_loaded && !k->text;
}

bool kernel_map_base(const struct kernel_map *k, image_id image, uint64_t *out)
{
	if (k->has_image && k->text && image.n == k->image.n) {
		*out = k->text;
		return true;
	}
	vec_foreach (&k->ranges, r) {
		if (r->image.n != image.n)
			continue;
		*out = r->start;
		return true;
	}
	return false;
}

/* "[name]"; "[name 4.14.18]" for another kernel whose build is not known. */
static void offline_path(const struct kernel_map *k, const struct mapping_event *m,
			 const char *name, int len, char *path, size_t size)
{
	if (!k->is_other || m->build_id.len)
		snprintf(path, size, "[%.*s]", len, name);
	else
		snprintf(path, size, "[%.*s %s]", len, name,
			 k->release[0] ? k->release : "(other)");
}

/* In old recordings, a name with neither a bracket nor a path is a BPF program. */
static struct image image_of_mapping(const struct kernel_map *k, const struct mapping_event *m,
				     char *path, size_t size)
{
	struct image image = { .kind = IMAGE_MODULE, .build_id = m->build_id, .path = path };
	const char *slash = strrchr(m->path, '/');
	char name[256];

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : m->path);
	if (name[0] == '[') {
		offline_path(k, m, name + 1, (int)strcspn(name + 1, "]"), path, size);
	} else if (slash) {
		name[strcspn(name, ".")] = '\0';
		for (char *c = name; *c; c++)
			if (*c == '-')
				*c = '_'; /* as the kernel names modules */
		offline_path(k, m, name, (int)strlen(name), path, size);
	} else {
		image.kind = IMAGE_BPF;
		snprintf(path, size, "[bpf:%s]", name);
	}
	return image;
}

void kernel_map_mapping(struct kernel_map *k, const struct mapping_event *m)
{
	char path[512];
	struct image image;

	if (strncmp(m->path, "[kernel", 7) && strncmp(m->path, "[guest.kernel", 13)) {
		image = image_of_mapping(k, m, path, sizeof(path));
		range_add(k, m->start, m->size, image_intern(k->images, &image), NULL);
		return;
	}
	k->text = m->file_off ? m->file_off : m->start;
	if (strstr(m->path, "]_stext"))
		k->text = kernel_text_of_stext(k->text);
	k->start = m->start;
	k->end = m->size && m->start + m->size > m->start ? m->start + m->size : UINT64_MAX;
	if (!m->build_id.len && !k->release[0])
		k->is_other = read_text_address(k->proc) != k->text;
	offline_path(k, m, "kernel", 6, path, sizeof(path));
	image = (struct image){ .kind = IMAGE_KERNEL, .build_id = m->build_id, .path = path };
	k->image = image_intern(k->images, &image);
	k->has_image = true;
}

void kernel_map_symbol(struct kernel_map *k, uint64_t addr, uint32_t size, bool is_bpf,
		       bool is_unregister, const char *name)
{
	cleanup(free_at_exit) char *path = NULL;
	struct image image = { .kind = IMAGE_BPF };

	if (is_unregister) {
		struct range *r = range_at(k, addr);

		if (r && r->name)
			r->is_gone = true;
		return;
	}
	path = xasprintf("[%s:%s]", is_bpf ? "bpf" : "trampoline", name);
	image.path = path;
	range_add(k, addr, size, image_intern(k->images, &image), name);
}

void kernel_map_names(const struct kernel_map *k,
		      void (*visit)(void *context, image_id image, uint64_t size, const char *name),
		      void *context)
{
	vec_foreach (&k->ranges, r)
		if (r->name)
			visit(context, r->image, r->end - r->start, r->name);
	if (k->has_unlisted)
		visit(context, k->unlisted, 1, "[code in no list of the kernel]");
}
