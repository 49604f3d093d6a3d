/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_modules.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "symbol/kernel/module_code.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/module_loader.h"
#include "trace/pt_history.h"
#include "trace/pt_images.h"

struct known_module {
	bool is_tried;
	struct module_code *code; /* NULL: `why` */
	const char *why;
};

struct pt_modules {
	const struct pt_history *history;
	struct pt_images *images;
	struct known_module *modules; /* as in the history */
	pthread_mutex_t lock;         /* of opening; what is open stays as it is */
	struct module_loader *loader; /* NULL: not needed yet */
};

struct pt_modules *pt_modules_new(const struct pt_history *history, struct pt_images *images)
{
	struct pt_modules *t = xcalloc(1, sizeof(*t));

	t->history = history;
	t->images = images;
	t->modules = xcalloc(history->modules.n + 1, sizeof(*t->modules));
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void pt_modules_free(struct pt_modules *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->history->modules.n; i++)
		module_code_free(t->modules[i].code);
	free(t->modules);
	module_loader_free(t->loader);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct module_loader *loader_of_kernel(struct pt_modules *t)
{
	const char *path = pt_images_kallsyms(t->images);
	struct module_loader_config config = { .kallsyms = path };

	if (!path)
		config.vmlinux = pt_images_vmlinux(t->images, &config.slide);
	config.memory = pt_images_kernel_memory(t->images, &config.memory_addr);
	return module_loader_new(&config);
}

static const char *open_module(struct pt_modules *t, const struct pt_module *m,
			       struct known_module *out)
{
	cleanup(free_at_exit) char *path = xasprintf("[%s]", m->name);
	struct image image = { .kind = IMAGE_MODULE, .build_id = m->build_id, .path = path };
	struct module_file file;
	const char *why;

	if (!pt_images_open_module(t->images, &image, m->path, &file))
		return "its file was not found (--image-path FOLDER)";
	if (!t->loader)
		t->loader = loader_of_kernel(t);
	out->code = module_loader_load(t->loader, &file, m->name, m->start, m->end,
				       image.build_id.len, &why);
	module_file_close(&file);
	return why;
}

static const struct known_module *known_module(struct pt_modules *t, size_t i)
{
	struct known_module *known = &t->modules[i];

	if (__atomic_load_n(&known->is_tried, __ATOMIC_ACQUIRE))
		return known;
	pthread_mutex_lock(&t->lock);
	if (!known->is_tried)
		known->why = open_module(t, &t->history->modules.data[i], known);
	__atomic_store_n(&known->is_tried, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&t->lock);
	return known;
}

size_t pt_modules_read(struct pt_modules *t, uint64_t addr, bool is_way, uint8_t *out, size_t size)
{
	const struct pt_module *m = pt_history_module(t->history, addr);
	const struct known_module *known;

	if (!m)
		return 0;
	known = known_module(t, (size_t)(m - t->history->modules.data));
	if (!known->code)
		return 0;
	return module_code_read(known->code, addr, is_way ? MODULE_SAME_WAY : MODULE_KNOWN, out,
				MIN(size, m->end - addr));
}

char *pt_modules_note(const struct pt_modules *t, size_t i)
{
	const struct known_module *known = &t->modules[i];
	const char *name = t->history->modules.data[i].name;
	uint64_t n_same_way, n_unknown;

	if (!known->is_tried)
		return NULL;
	if (!known->code)
		return xasprintf("the code of the kernel's module %s is not decoded: %s", name,
				 known->why);
	module_code_undecided(known->code, &n_same_way, &n_unknown);
	return xasprintf("the code of the kernel's module %s comes from its file. Of the places "
			 "that the kernel patches, the file does not tell %" PRIu64
			 " (not decoded), and %" PRIu64 " that lead the same way",
			 name, n_unknown, n_same_way);
}
