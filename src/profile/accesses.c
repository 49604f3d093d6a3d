/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/accesses.h"

#include "base/buf.h"
#include "base/path.h"
#include "event/data_source.h"
#include "profile/wakers.h"
#include "store/segment.h"

static string_id access_put(struct profile *p, uint64_t source,
			    void (*put)(struct buf *out, uint64_t source))
{
	struct buf text = { 0 };
	string_id id;

	put(&text, source);
	id = strings_add(&p->waker_texts, buf_cstr(&text));
	buf_fini(&text);
	return id;
}

static const char *variable_name(struct profile *p, const struct image *image, uint64_t offset)
{
	bool is_kernel = image->kind == IMAGE_KERNEL;
	const char *none = is_kernel ? path_file_name(image->path) : ACCESS_NO_SYMBOL;
	const struct symbol_table *t;
	uint32_t symbol;

	if (image->kind != IMAGE_FILE && !(is_kernel && offset))
		return path_file_name(image->path);
	if (!p->symbols)
		return none;
	t = symbolizer_objects(p->symbols, image);
	symbol = symbol_find(t, offset);
	return symbol == NO_SYMBOL ? none : symbol_name(p->symbols, t, symbol);
}

void access_describe(struct profile *p, const struct load_part *part, uint32_t node, uint32_t mark,
		     struct profile_waker *out)
{
	const struct code_addr *data = &part->segment->nodes[node].code;
	uint64_t source = part->segment->nodes[mark].code.offset;
	const struct image *image;

	out->mem = access_put(p, source, data_source_put_level);
	out->tlb = access_put(p, source, data_source_put_tlb);
	out->snoop = access_put(p, source, data_source_put_snoop);
	if (node == mark) /* the sample has no address */
		return;
	image = p->images.data[load_image_of(part, data->image)].image;
	out->data_symbol = strings_add(&p->waker_texts, variable_name(p, image, data->offset));
	out->data_image = strings_add(&p->waker_texts, path_file_name(image->path));
}
