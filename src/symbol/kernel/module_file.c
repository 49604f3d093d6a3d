/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/module_file.h"

#include <elf.h>
#include <glob.h>
#include <string.h>
#include <sys/utsname.h>
#include <zstd.h>

#include "base/path.h"
#include "base/strings.h"
#include "base/unpack_memory.h"
#include "elf/elf_symbols.h"
#include "foreign/gunzip.h"
#include "symbol/mini_debug.h"

#define MAX_UNPACKED      (256U << 20)
#define MODULES_DEP_BYTES (64U << 20)
/* Sections that are freed after loading, and data: far from all code. */
#define OTHER_BASE (MODULE_BASE + (1ULL << 32))
/* Targets outside the module: a call there leads to nothing known. */
#define OUTSIDE (MODULE_BASE + 0x7f000000)

void module_file_close(struct module_file *m)
{
	free(m->bytes);
	free(m->path);
	code_segments_fini(&m->segments);
	*m = (struct module_file){ 0 };
}

/* ---- the layout ---- */

static bool is_code(const struct elf_section *s)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

	return (s->flags & wanted) == wanted;
}

/* Sections that the kernel frees when the module has started. */
static bool is_init(const struct elf_file *elf, const struct elf_section *s)
{
	return !strncmp(elf_section_name(elf, s), ".init", 5);
}

static uint64_t alignment_of(const struct elf_file *elf, uint32_t i)
{
	Elf64_Shdr h;

	memcpy(&h, elf->base + elf->sections_off + (uint64_t)i * elf->section_stride, sizeof(h));
	return h.sh_addralign && !(h.sh_addralign & (h.sh_addralign - 1)) ? h.sh_addralign : 1;
}

/* The address of each section; 0 for sections outside memory, such as debug sections. */
static uint64_t *module_file_lay_out(const struct elf_file *elf)
{
	uint64_t *addrs = xcalloc(elf->n_sections + 1, sizeof(*addrs));
	uint64_t code = MODULE_BASE, other = OTHER_BASE, *at, align;
	struct elf_section section;

	for (uint32_t i = 1; i < elf->n_sections; i++) {
		if (!elf_section(elf, i, &section) || !(section.flags & SHF_ALLOC) ||
		    section.size > UINT32_MAX)
			continue;
		at = is_code(&section) && !is_init(elf, &section) ? &code : &other;
		align = MIN(alignment_of(elf, i), (uint64_t)1 << 20);
		*at = (*at + align - 1) & ~(align - 1);
		addrs[i] = *at;
		*at += section.size;
	}
	return addrs;
}

struct known_offsets {
	struct strings names;
	VEC(uint64_t) offsets; /* by name; UINT64_MAX: the name is used several times */
};

static void known_offsets_add(struct known_offsets *k, const struct symbol_table *t)
{
	strings_init(&k->names);
	vec_push(&k->offsets, UINT64_MAX);
	for (uint32_t i = 0; t && i < symbol_count(t); i++) {
		struct symbol symbol = symbol_get(t, i);
		string_id id = strings_add(&k->names, symbol.name);

		if (id.n == k->offsets.n)
			vec_push(&k->offsets, symbol.offset);
		else
			k->offsets.data[id.n] = UINT64_MAX;
	}
}

/* A function of a known name gives the address of its section. */
static void correct_addresses(const struct elf_file *elf, const struct symbol_table *table,
			      uint64_t *addrs)
{
	bool *is_settled = xcalloc(elf->n_sections + 1, sizeof(*is_settled));
	struct known_offsets known = { 0 };
	struct elf_section section;
	struct elf_symbol symbol;
	struct elf_symbols it;
	bool has_symbols = elf_symbols_begin(&it, elf, SHT_SYMTAB);
	string_id id;

	known_offsets_add(&known, table);
	while (has_symbols && elf_symbols_next(&it, &symbol)) {
		uint16_t n = symbol.section;

		if (symbol.type != STT_FUNC || n >= elf->n_sections || is_settled[n] ||
		    !elf_section(elf, n, &section) || !is_code(&section) ||
		    is_init(elf, &section) || !strings_find(&known.names, symbol.name, &id) ||
		    known.offsets.data[id.n] > UINT32_MAX)
			continue;
		if (known.offsets.data[id.n] < symbol.link_addr)
			continue;
		addrs[n] = MODULE_BASE + known.offsets.data[id.n] - symbol.link_addr;
		is_settled[n] = true;
	}
	strings_fini(&known.names);
	vec_fini(&known.offsets);
	free(is_settled);
}

/* ---- addresses into the copy ---- */

static void module_file_give_addresses(struct module_file *m, const uint64_t *addrs)
{
	const struct elf_file *elf = &m->elf;
	struct elf_section section;

	for (uint32_t i = 1; i < elf->n_sections; i++) {
		uint64_t at = elf->sections_off + (uint64_t)i * elf->section_stride;
		bool has_code;

		if (!elf_section(elf, i, &section))
			continue;
		has_code = is_code(&section) && addrs[i] && addrs[i] < OTHER_BASE;
		memcpy(m->bytes + at + offsetof(Elf64_Shdr, sh_addr), &addrs[i], 8);
		if (has_code && section.size)
			vec_push(&m->segments, (struct code_segment){ addrs[i], section.size,
								      addrs[i] - MODULE_BASE });
	}
	code_segments_sort(&m->segments);
}

static void move_symbols(struct module_file *m, const uint64_t *addrs)
{
	const struct elf_file *elf = &m->elf;
	struct elf_section section;

	for (uint32_t i = 1; i < elf->n_sections; i++) {
		struct reader bytes;
		uint8_t *at;

		if (!elf_section(elf, i, &section) || section.type != SHT_SYMTAB)
			continue;
		bytes = elf_section_bytes(elf, &section);
		at = m->bytes + (bytes.at - m->bytes);
		for (; reader_left(&bytes) >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
			Elf64_Sym symbol;

			reader_bytes(&bytes, sizeof(symbol));
			memcpy(&symbol, at, sizeof(symbol));
			if (symbol.st_shndx >= elf->n_sections)
				continue;
			symbol.st_value += addrs[symbol.st_shndx];
			memcpy(at, &symbol, sizeof(symbol));
		}
	}
}

/* Calls and jumps, so that disassembly shows their targets. */
static void relocate_place(uint16_t machine, uint32_t type, uint64_t place, uint64_t target,
			   uint8_t *bytes)
{
	uint32_t word, relative = (uint32_t)(target - place);

	memcpy(&word, bytes, sizeof(word));
	if (machine == EM_X86_64 && (type == R_X86_64_PC32 || type == R_X86_64_PLT32))
		word = relative;
	else if (machine == EM_AARCH64 && (type == R_AARCH64_CALL26 || type == R_AARCH64_JUMP26))
		word = (word & 0xfc000000) | (relative >> 2 & 0x03ffffff);
	memcpy(bytes, &word, sizeof(word));
}

static void module_relocate_section(struct module_file *m, const struct elf_section *relocations)
{
	struct reader r = elf_section_bytes(&m->elf, relocations), code;
	struct elf_section target;
	struct elf_symbols symbols;
	struct elf_symbol symbol;

	if (!elf_section(&m->elf, relocations->info, &target) || !is_code(&target) ||
	    !elf_symbols_begin(&symbols, &m->elf, SHT_SYMTAB))
		return;
	code = elf_section_bytes(&m->elf, &target);
	while (reader_left(&r) >= sizeof(Elf64_Rela)) {
		uint64_t offset = reader_u64(&r), info = reader_u64(&r), addend = reader_u64(&r);
		uint64_t to;

		if (offset > reader_left(&code) || reader_left(&code) - offset < 4 ||
		    !elf_symbols_get(&symbols, (uint32_t)(info >> 32), &symbol))
			continue;
		to = symbol.section != SHN_UNDEF ? symbol.link_addr : OUTSIDE;
		relocate_place(m->elf.machine, (uint32_t)info, target.link_addr + offset,
			       to + addend, m->bytes + (code.at - m->bytes) + offset);
	}
}

static void relocate_code(struct module_file *m)
{
	struct elf_section section;

	for (uint32_t i = 1; i < m->elf.n_sections; i++)
		if (elf_section(&m->elf, i, &section) && section.type == SHT_RELA)
			module_relocate_section(m, &section);
}

void module_file_link(struct module_file *m, const struct symbol_table *known)
{
	uint64_t *addrs = module_file_lay_out(&m->elf);

	if (known)
		correct_addresses(&m->elf, known, addrs);
	module_file_give_addresses(m, addrs);
	move_symbols(m, addrs);
	relocate_code(m);
	free(addrs);
}

bool module_file_off(const struct module_file *m, uint64_t link_addr, uint64_t *file_off)
{
	struct elf_section section;
	struct reader bytes;

	for (uint32_t i = 1; i < m->elf.n_sections; i++) {
		if (!elf_section(&m->elf, i, &section) || !is_code(&section) ||
		    link_addr < section.link_addr || link_addr - section.link_addr >= section.size)
			continue;
		bytes = elf_section_bytes(&m->elf, &section);
		*file_off = section.file_off + (link_addr - section.link_addr);
		return reader_left(&bytes) > 0;
	}
	return false;
}

/* ---- the file ---- */

static bool has_suffix(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && !strcmp(text + n - m, suffix);
}

static uint8_t *copy_of(const void *bytes, size_t size)
{
	uint8_t *copy = xmalloc(size + 1);

	memcpy(copy, bytes, size);
	return copy;
}

static uint8_t *module_unzstd(const struct file_mapping *file, size_t *size)
{
	unsigned long long want = ZSTD_getFrameContentSize(file->base, file->size);
	uint8_t *bytes;

	/* The kernel's build makes one frame; without a size in it, there is no limit to check. */
	if (want == ZSTD_CONTENTSIZE_UNKNOWN)
		want = MIN((uint64_t)file->size * 32, (uint64_t)MAX_UNPACKED);
	if (want == ZSTD_CONTENTSIZE_ERROR || want > MAX_UNPACKED)
		return NULL;
	bytes = mem_try(want + 1, 1);
	if (!bytes)
		return NULL;
	*size = ZSTD_decompress(bytes, want, file->base, file->size);
	if (!ZSTD_isError(*size))
		return bytes;
	zstd_lacks_memory(*size);
	free(bytes);
	return NULL;
}

static uint8_t *module_file_unpack(const char *path, const struct file_mapping *file, size_t *size)
{
	struct buf out = { 0 };

	if (has_suffix(path, ".xz"))
		return xz_unpack(reader_over(file->base, file->size), size);
	if (has_suffix(path, ".zst"))
		return module_unzstd(file, size);
	if (has_suffix(path, ".gz")) {
		if (gunzip(file->base, file->size, MAX_UNPACKED, &out, NULL) < 0) {
			buf_fini(&out);
			return NULL;
		}
		*size = out.len;
		return out.data;
	}
	*size = file->size;
	return copy_of(file->base, file->size);
}

static bool has_content(const struct elf_file *elf, enum module_content content)
{
	struct elf_section section;
	struct elf_symbols symbols;

	if (content == MODULE_SYMBOLS)
		return elf_symbols_begin(&symbols, elf, SHT_SYMTAB);
	if (content == MODULE_LINES)
		return elf_section_named(elf, ".debug_info", &section) ||
		       elf_section_named(elf, ".zdebug_info", &section);
	for (uint32_t i = 1; elf_section(elf, i, &section); i++)
		if (is_code(&section) && section.type != SHT_NOBITS && section.size)
			return true;
	return false;
}

struct search {
	struct symbolizer *symbols;
	const struct image *image;
	enum module_content content;
	struct module_file *out;
	const char *release; /* of the kernel; NULL: any, or the running one's */
};

static bool module_file_try_file(const struct search *search, const char *path)
{
	struct module_file *m = search->out;
	const struct build_id *wanted = &search->image->build_id;
	struct file_mapping file = { 0 };
	struct build_id found;

	if (symbolizer_map(search->symbols, path, &file, NULL) < 0)
		return false;
	m->bytes = module_file_unpack(path, &file, &m->size);
	m->mtime_ns = file.mtime_ns;
	file_unmap(&file);
	if (m->bytes && elf_file_open(&m->elf, m->bytes, m->size, NULL) == 0 &&
	    m->elf.type == ET_REL && m->elf.is_64 &&
	    (!wanted->len || (elf_build_id(&m->elf, &found) && build_id_equal(&found, wanted))) &&
	    has_content(&m->elf, search->content)) {
		m->path = xstrdup(path);
		return true;
	}
	module_file_close(m);
	return false;
}

/* "kernel/net/snd-hda.ko.xz" is the module snd_hda. */
static bool is_module_path(const char *path, size_t len, const char *name)
{
	size_t slash = len, n = strlen(name);

	while (slash && path[slash - 1] != '/')
		slash--;
	path += slash;
	len -= slash;
	if (len < n + 3 || strncmp(path + n, ".ko", 3) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((path[i] == '-' ? '_' : path[i]) != (name[i] == '-' ? '_' : name[i]))
			return false;
	return true;
}

/* The module's path in a modules.dep, or NULL. */
static char *find_module_path(const struct symbolizer *s, const char *dep_path, const char *name)
{
	cleanup(free_at_exit) char *text = NULL;
	struct file_mapping file = { 0 };

	/* Below the folder of a guest, the guest chooses what kind of file it is. */
	if (symbolizer_map(s, dep_path, &file, NULL) < 0)
		return NULL;
	if (file.size <= MODULES_DEP_BYTES)
		text = xstrndup((const char *)file.base, file.size);
	file_unmap(&file);
	if (!text)
		return NULL;
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, ":\n");

		if (line[len] == ':' && is_module_path(line, len, name))
			return xstrndup(line, len);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return NULL;
}

static bool try_release(const struct search *search, const char *dep_path, const char *name)
{
	const struct symbolizer *s = search->symbols;
	const char *below = dep_path + strlen(s->files.root), *ko;
	cleanup(free_at_exit) char *path = find_module_path(s, dep_path, name);
	int dir = (int)(strrchr(below, '/') - below);
	char *candidates[3];
	bool ok = false;

	if (!path)
		return false;
	ko = strstr(strrchr(path, '/') ? strrchr(path, '/') : path, ".ko");
	candidates[0] = xasprintf("%s%s%.*s/%.*s.ko.debug", s->files.root, s->files.debug_dir, dir,
				  below, (int)(ko - path), path);
	candidates[1] = xasprintf("%s%s%.*s/%.*s.ko", s->files.root, s->files.debug_dir, dir, below,
				  (int)(ko - path), path);
	candidates[2] = *path == '/' ? xasprintf("%s%s", s->files.root, path)
				     : xasprintf("%s%.*s/%s", s->files.root, dir, below, path);
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		ok = ok || module_file_try_file(search, candidates[i]);
		free(candidates[i]);
	}
	return ok;
}

static bool try_build_id(const struct search *search)
{
	char hex[BUILD_ID_HEX_SIZE];
	cleanup(free_at_exit) char *path = NULL;

	if (search->image->build_id.len < 2)
		return false;
	build_id_hex(&search->image->build_id, hex);
	path = xasprintf("%s%s/.build-id/%.2s/%s.debug", search->symbols->files.root,
			 search->symbols->files.debug_dir, hex, hex + 2);
	return module_file_try_file(search, path);
}

/* With a build id, modules of any kernel may match. */
static bool try_releases(const struct search *search)
{
	cleanup(free_at_exit) char *name = kernel_module_name(search->image->path);
	cleanup(free_at_exit) char *root = path_to_pattern(search->symbols->files.root);
	cleanup(free_at_exit) char *pattern = NULL;
	const char *release = search->release;
	struct utsname running;
	glob_t paths = { 0 };
	bool ok = false;

	if (!release && !search->image->build_id.len && uname(&running) < 0)
		return false;
	if (!release)
		release = search->image->build_id.len ? "*" : running.release;
	pattern = xasprintf("%s/lib/modules/%s/modules.dep", root, release);
	if (glob(pattern, 0, NULL, &paths) == 0)
		for (size_t i = 0; i < paths.gl_pathc && !ok; i++)
			ok = try_release(search, paths.gl_pathv[i], name);
	globfree(&paths);
	return ok;
}

/* "nls_utf8.ko.xz", "snd-hda.ko", "loop.ko.debug" in the user's folders. */
static bool try_listed(const struct search *search)
{
	cleanup(free_at_exit) char *name = kernel_module_name(search->image->path);
	size_t n;
	const struct listed_file *files = image_places_all(&search->symbols->files.listed, &n);
	bool ok = false;

	for (size_t i = 0; i < n && !ok; i++)
		ok = is_module_path(files[i].name, strlen(files[i].name), name) &&
		     module_file_try_file(search, files[i].path);
	return ok;
}

static bool is_unpackable(const char *name)
{
	return has_suffix(name, ".ko") || has_suffix(name, ".ko.xz") ||
	       has_suffix(name, ".ko.zst") || has_suffix(name, ".ko.gz");
}

char *symbolizer_listed_module(struct symbolizer *s, const struct image *image)
{
	cleanup(free_at_exit) char *name = kernel_module_name(image->path);
	const char *found = NULL;
	size_t n;
	const struct listed_file *files = image_places_all(&s->files.listed, &n);

	for (size_t i = 0; i < n; i++) {
		if (!is_module_path(files[i].name, strlen(files[i].name), name) ||
		    !is_unpackable(files[i].name))
			continue;
		if (found && strcmp(found, files[i].path) != 0)
			return NULL;
		found = files[i].path;
	}
	return found ? xstrdup(found) : NULL;
}

bool module_file_open(struct symbolizer *s, const struct image *image, enum module_content content,
		      const struct symbol_table *known, struct module_file *out)
{
	const struct search search = { s, image, content, out, NULL };

	*out = (struct module_file){ 0 };
	if (!try_build_id(&search) && !try_releases(&search) && !try_listed(&search))
		return false;
	module_file_link(out, known);
	return true;
}

bool module_file_open_of_release(struct symbolizer *s, const struct image *image,
				 const char *release, struct module_file *out)
{
	const struct search search = { s, image, MODULE_CODE, out, release };

	*out = (struct module_file){ 0 };
	if (*release ? !try_releases(&search) : !try_listed(&search))
		return false;
	module_file_link(out, NULL);
	return true;
}
