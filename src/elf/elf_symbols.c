/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_symbols.h"

#include <elf.h>

#include "base/mem.h"

/* Where a table and its names are. */
struct table_bytes {
	struct reader entries, names;
	uint64_t entry_size;
};

static bool find_section_table(const struct elf_file *elf, uint32_t table, struct table_bytes *out)
{
	struct elf_section symbols, names;

	for (uint32_t i = 0; elf_section(elf, i, &symbols); i++) {
		if (symbols.type != table || !elf_section(elf, symbols.link, &names))
			continue;
		out->entries = elf_section_bytes(elf, &symbols);
		out->names = elf_section_bytes(elf, &names);
		out->entry_size = symbols.entry_size;
		return true;
	}
	return false;
}

/* The tags of the dynamic section that tell of symbols; link addresses, 0 where not there. */
struct dynamic {
	uint64_t symbols, names, names_size, entry_size, hash, gnu_hash;
};

static void note_tag(struct dynamic *d, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_SYMTAB:
		d->symbols = value;
		break;
	case DT_STRTAB:
		d->names = value;
		break;
	case DT_STRSZ:
		d->names_size = value;
		break;
	case DT_SYMENT:
		d->entry_size = value;
		break;
	case DT_HASH:
		d->hash = value;
		break;
	case DT_GNU_HASH &UINT32_MAX:
		d->gnu_hash = value;
		break;
	}
}

static bool read_dynamic(const struct elf_file *elf, struct dynamic *d)
{
	struct elf_segment segment;
	struct reader r;

	for (uint32_t i = 0; elf_segment(elf, i, &segment); i++) {
		if (segment.type != PT_DYNAMIC)
			continue;
		r = elf_bytes_at(elf, segment.link_addr);
		while (reader_left(&r)) {
			uint64_t tag = elf->is_64 ? reader_u64(&r) : reader_u32(&r);
			uint64_t value = elf->is_64 ? reader_u64(&r) : reader_u32(&r);

			if (tag == DT_NULL)
				break;
			note_tag(d, tag, value);
		}
		return d->symbols && d->names;
	}
	return false;
}

/*
 * The dynamic section does not say how many symbols there are; the hash tables
 * do. DT_HASH: its number of chains. DT_GNU_HASH: the end of the chain that the last
 * bucket starts, which an odd hash marks.
 */
static uint64_t count_hashed(const struct elf_file *elf, const struct dynamic *d)
{
	struct reader r = elf_bytes_at(elf, d->hash ? d->hash : d->gnu_hash);
	uint32_t n_buckets = reader_u32(&r), second = reader_u32(&r), n_bloom, last = 0;

	if (d->hash || !d->gnu_hash)
		return d->hash ? second : 0;
	n_bloom = reader_u32(&r);
	reader_u32(&r); /* shift */
	reader_bytes(&r, (size_t)n_bloom * (elf->is_64 ? 8 : 4));
	for (uint32_t i = 0; i < n_buckets && !r.bad; i++) {
		uint32_t chain = reader_u32(&r);

		last = MAX(last, chain);
	}
	if (last < second)
		return second;
	reader_bytes(&r, (size_t)(last - second) * 4);
	while (!(reader_u32(&r) & 1) && !r.bad)
		last++;
	return r.bad ? 0 : (uint64_t)last + 1;
}

/* As the loader finds it, in files without section headers. */
static bool find_dynamic_table(const struct elf_file *elf, struct table_bytes *out)
{
	struct dynamic d = { 0 };
	size_t size;

	if (!read_dynamic(elf, &d) || !d.entry_size || d.entry_size > 4096)
		return false;
	out->entry_size = d.entry_size;
	out->entries = elf_bytes_at(elf, d.symbols);
	out->names = elf_bytes_at(elf, d.names);
	size = (size_t)(count_hashed(elf, &d) * d.entry_size);
	out->entries.end = out->entries.at + MIN(size, reader_left(&out->entries));
	out->names.end = out->names.at + MIN(d.names_size, reader_left(&out->names));
	return true;
}

bool elf_symbols_begin(struct elf_symbols *it, const struct elf_file *elf, uint32_t table)
{
	size_t least = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct table_bytes t;
	const char *last_nul;

	if (!find_section_table(elf, table, &t) &&
	    (table != SHT_DYNSYM || elf->n_sections || !find_dynamic_table(elf, &t)))
		return false;
	*it = (struct elf_symbols){
		.is_64 = elf->is_64,
		.first = t.entries.at,
		.stride = t.entry_size >= least && t.entry_size <= 4096 ? (size_t)t.entry_size
									: least,
		.names = "",
		.names_size = 1,
	};
	it->n = (uint32_t)MIN(reader_left(&t.entries) / it->stride, UINT32_MAX);

	/* With the tail behind the last NUL cut off, every offset inside names a string. */
	last_nul = reader_left(&t.names) ? memrchr(t.names.at, 0, reader_left(&t.names)) : NULL;
	if (last_nul) {
		it->names = (const char *)t.names.at;
		it->names_size = (size_t)(last_nul - it->names) + 1;
	}
	return it->n > 0;
}

static void elf_symbol_decode(const struct elf_symbols *it, const uint8_t *at,
			      struct elf_symbol *out)
{
	uint32_t name;

	if (it->is_64) {
		Elf64_Sym s;

		memcpy(&s, at, sizeof(s));
		name = s.st_name;
		out->link_addr = s.st_value;
		out->size = s.st_size;
		out->type = ELF64_ST_TYPE(s.st_info);
		out->bind = ELF64_ST_BIND(s.st_info);
		out->section = s.st_shndx;
	} else {
		Elf32_Sym s;

		memcpy(&s, at, sizeof(s));
		name = s.st_name;
		out->link_addr = s.st_value;
		out->size = s.st_size;
		out->type = ELF32_ST_TYPE(s.st_info);
		out->bind = ELF32_ST_BIND(s.st_info);
		out->section = s.st_shndx;
	}
	out->name = name < it->names_size ? it->names + name : "";
}

bool elf_symbols_get(const struct elf_symbols *it, uint32_t i, struct elf_symbol *out)
{
	if (i >= it->n)
		return false;
	elf_symbol_decode(it, it->first + (size_t)i * it->stride, out);
	return true;
}

bool elf_symbols_next(struct elf_symbols *it, struct elf_symbol *out)
{
	return elf_symbols_get(it, it->next, out) && ++it->next;
}

/* Longer chains than this are no hash table. */
#define CHAIN_MAX 4096

/* As dl_new_hash() of the GNU C library. */
static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static struct reader gnu_hash_table(const struct elf_file *elf)
{
	struct dynamic d = { 0 };
	struct elf_section s;

	for (uint32_t i = 0; elf_section(elf, i, &s); i++)
		if (s.type == SHT_GNU_HASH)
			return elf_section_bytes(elf, &s);
	if (!elf->n_sections && read_dynamic(elf, &d) && d.gnu_hash)
		return elf_bytes_at(elf, d.gnu_hash);
	return reader_over(elf->base, 0);
}

static bool is_exported(const struct elf_symbol *symbol, const char *name)
{
	return symbol->section != SHN_UNDEF && !strcmp(symbol->name, name);
}

/*
 * The table has the numbers of buckets, of the first symbol in it, and of words of the Bloom
 * filter. Then follow the filter, which is left out here, a symbol for each bucket, and a hash for
 * each symbol. The lowest bit of a hash marks the end of a bucket.
 */
static bool find_hashed(struct reader table, const struct elf_symbols *it, const char *name,
			struct elf_symbol *out)
{
	uint32_t hash = gnu_hash(name), n_buckets = reader_u32(&table);
	uint32_t first = reader_u32(&table), n_bloom = reader_u32(&table), at, found;
	struct reader buckets, chains;

	reader_u32(&table); /* shift */
	reader_bytes(&table, (size_t)n_bloom * (it->is_64 ? 8 : 4));
	buckets = table;
	reader_bytes(&table, (size_t)n_buckets * 4);
	if (table.bad || !n_buckets)
		return false;
	reader_bytes(&buckets, (size_t)(hash % n_buckets) * 4);
	at = reader_u32(&buckets);
	if (at < first)
		return false;
	chains = table;
	reader_bytes(&chains, (size_t)(at - first) * 4);
	for (uint32_t n = 0; n < CHAIN_MAX && !chains.bad; n++, at++) {
		found = reader_u32(&chains);
		if (!chains.bad && (found | 1) == (hash | 1) && elf_symbols_get(it, at, out) &&
		    is_exported(out, name))
			return true;
		if (found & 1)
			return false;
	}
	return false;
}

bool elf_symbol_exported(const struct elf_file *elf, const char *name, struct elf_symbol *out)
{
	struct reader table = gnu_hash_table(elf);
	struct elf_symbols it;

	if (!elf_symbols_begin(&it, elf, SHT_DYNSYM))
		return false;
	if (reader_left(&table))
		return find_hashed(table, &it, name, out);
	while (elf_symbols_next(&it, out))
		if (is_exported(out, name))
			return true;
	return false;
}
