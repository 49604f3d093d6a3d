/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/image_names.h"

#include <stdlib.h>
#include <string.h>

/* The kernel's symbols, as operf names the kernel's image where there is no vmlinux. */
#define KERNEL_PATH "/proc/kallsyms"

void image_names_init(struct image_names *n, const struct image_table *images)
{
	*n = (struct image_names){ .images = images };
	strings_init(&n->texts);
	/* a new table has one text already, "" */
	vec_push(&n->first_of_text, IMAGE_UNKNOWN_ID.n);
}

void image_names_fini(struct image_names *n)
{
	vec_foreach (&n->names, name)
		free(name->text);
	vec_fini(&n->names);
	vec_fini(&n->first_of_text);
	strings_fini(&n->texts);
}

bool image_is_of_kernel(const struct image *image)
{
	return image->kind == IMAGE_KERNEL || image->kind == IMAGE_MODULE ||
	       image->kind == IMAGE_BPF;
}

bool image_is_anonymous(const struct image *image)
{
	return image->kind == IMAGE_JIT || image->kind == IMAGE_UNKNOWN ||
	       image->kind == IMAGE_VDSO || (image->kind == IMAGE_FILE && image->path[0] != '/');
}

static const char *image_names_label(const struct image *image)
{
	switch (image->kind) {
	case IMAGE_VDSO:
		return "[vdso]";
	case IMAGE_UNKNOWN:
		return "unknown";
	default:
		return "anon";
	}
}

/* A module is "[ext4]" to us. */
static char *image_names_bare(const char *path)
{
	size_t n = strlen(path);
	bool has_brackets = n > 2 && path[0] == '[' && path[n - 1] == ']';

	return has_brackets ? xstrndup(path + 1, n - 2) : xstrdup(path);
}

static char *image_names_plain(const struct image *image)
{
	if (image->kind == IMAGE_KERNEL)
		return xstrdup(KERNEL_PATH);
	if (image_is_anonymous(image))
		return xstrdup(image_names_label(image));
	return image->kind == IMAGE_FILE ? xstrdup(image->path) : image_names_bare(image->path);
}

/*
 * Two images of one name would write to one file at once. Files and BPF programs that differ get
 * different names: "/usr/bin/app #2", which no reader takes for the file at that path. Anonymous
 * memory is told apart by process and region, so all of it is one image, and so are modules.
 */
static const struct image_name *name_of(struct image_names *s, uint32_t number)
{
	const struct image *image = image_get(s->images, (image_id){ number });
	bool is_apart = !image_is_anonymous(image) &&
			(image->kind == IMAGE_FILE || image->kind == IMAGE_BPF);
	struct image_name *name;

	while (s->names.n <= number)
		vec_push(&s->names, (struct image_name){ 0 });
	name = &s->names.data[number];
	for (int copy = 1; !name->text; copy++) {
		cleanup(free_at_exit) char *plain = image_names_plain(image);
		cleanup(free_at_exit) char *text =
			copy == 1 ? take_ptr(plain) : xasprintf("%s #%d", plain, copy);
		string_id id = strings_add(&s->texts, text);

		if (id.n < s->first_of_text.n && is_apart)
			continue;
		if (id.n >= s->first_of_text.n)
			vec_push(&s->first_of_text, number);
		*name = (struct image_name){ take_ptr(text), s->first_of_text.data[id.n] };
	}
	return name;
}

/* Returns the part of a name for the code's image. *key: the code's offset in that image. */
struct file_image image_names_part(struct image_names *s, const struct code_addr *code, int32_t pid,
				   uint64_t *key)
{
	const struct image *image = image_get(s->images, code->image);
	struct file_image out = { .image = name_of(s, code->image.n)->first };

	*key = code->offset;
	if (image_is_anonymous(image)) {
		/* a child goes on with its parent's image of memory that both have */
		out.pid = pid > 0 || image->kind != IMAGE_JIT ? pid : image->pid;
		out.start = code->offset & ~REGION_MASK;
		*key = code->offset & REGION_MASK;
	}
	return out;
}

struct sample_image_name image_names_of(struct image_names *s, const struct file_image *part,
					bool is_main)
{
	const struct image *image = image_get(s->images, (image_id){ part->image });
	const char *text = name_of(s, part->image)->text;
	struct sample_image_name name = { .kind = *text == '/' ? SAMPLE_IMAGE_ROOT
							       : SAMPLE_IMAGE_KERN };

	if (image_is_anonymous(image) && is_main) {
		text = "unknown"; /* what operf calls it */
	} else if (image_is_anonymous(image)) {
		name.kind = SAMPLE_IMAGE_ANON;
		name.tgid = MAX(part->pid, 0);
		name.start = part->start;
		name.end = part->start | REGION_MASK;
	}
	name.text = xstrdup(text);
	return name;
}

const char *image_names_text(struct image_names *s, uint32_t image)
{
	return name_of(s, image)->text;
}
