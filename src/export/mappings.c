/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/mappings.h"

#include <stdlib.h>
#include <string.h>

#define PAGE        4096ULL
#define FIRST_START 0x400000ULL /* the old start of programs; 0 would look like no address */

static bool has_runtime_addresses(const struct image *image)
{
	return image->kind == IMAGE_JIT || image->kind == IMAGE_UNKNOWN;
}

/* Offsets stand for names, and are anything: the places of such an image are numbered. */
static bool has_names_alone(const struct image *image)
{
	return image->kind == IMAGE_NAMED || image->kind == IMAGE_LANGUAGE;
}

/* Where a place is in the range of its image. */
static uint64_t range_offset(const struct mappings *m, const struct profile *p,
			     const struct profile_place *place)
{
	const struct image *image = p->images.data[p->functions.data[place->function].image].image;

	return has_names_alone(image) ? m->numbers[place - p->places.data] : place->offset;
}

/* Numbers the places of images with names alone, and takes the offsets of each image as its range.
 */
static void find_extents(struct mappings *m, const struct profile *p)
{
	uint32_t *n_places = xcalloc(p->images.n + 1, sizeof(*n_places));

	vec_foreach (&p->places, place) {
		uint32_t image = p->functions.data[place->function].image;
		uint32_t *at = &m->of_image[image];
		uint64_t offset;

		m->numbers[place - p->places.data] = n_places[image]++;
		offset = range_offset(m, p, place);
		if (p->images.data[image].image->kind == IMAGE_UNKNOWN)
			continue;
		if (*at == NO_INDEX) {
			*at = (uint32_t)m->list.n;
			vec_push(&m->list, (struct mapping){ .image = image, .start = UINT64_MAX });
		}
		m->list.data[*at].start = MIN(m->list.data[*at].start, offset);
		m->list.data[*at].end = MAX(m->list.data[*at].end, offset);
	}
	free(n_places);
}

static uint64_t page_of(uint64_t offset)
{
	return offset & ~(PAGE - 1);
}

/* Offsets of damaged sessions may be anything: the end of a range stops at the largest address. */
static uint64_t page_behind(uint64_t offset)
{
	return offset > UINT64_MAX - PAGE ? UINT64_MAX : page_of(offset) + PAGE;
}

static void place_all(struct mappings *m, const struct profile *p)
{
	uint64_t next = FIRST_START;

	vec_foreach (&m->list, it) {
		uint64_t first = page_of(it->start), end = page_behind(it->end);

		if (has_runtime_addresses(p->images.data[it->image].image)) {
			it->start = first;
			it->end = end;
			continue;
		}
		it->file_off = first;
		it->start = next;
		it->end = next = next + (end - first);
	}
}

/* The executable with the most samples goes first: readers take its name as the program's. */
static void put_main_first(struct mappings *m, const struct profile *p)
{
	uint64_t *samples = xcalloc(p->images.n + 1, sizeof(*samples)), best = 0;
	uint32_t main = NO_INDEX;

	for (size_t i = 0; i < p->entries.n; i++) {
		uint32_t app = profile_class_value(p, PROFILE_APP, p->entries.data[i].group);

		for (uint32_t lane = 0; lane < p->n_lanes && app != NO_INDEX; lane++)
			samples[app] += profile_weights(p, i)[lane].samples;
	}
	for (uint32_t i = 0; i < p->images.n; i++)
		if (samples[i] > best && m->of_image[i] != NO_INDEX) {
			best = samples[i];
			main = m->of_image[i];
		}
	if (main != NO_INDEX && main) {
		struct mapping first = m->list.data[0];

		m->list.data[0] = m->list.data[main];
		m->list.data[main] = first;
		m->of_image[first.image] = main;
		m->of_image[m->list.data[0].image] = 0;
	}
	free(samples);
}

void mappings_init(struct mappings *m, const struct profile *p)
{
	*m = (struct mappings){ .of_image = xcalloc(p->images.n + 1, sizeof(uint32_t)),
				.numbers = xcalloc(p->places.n + 1, sizeof(uint32_t)) };
	for (size_t i = 0; i < p->images.n; i++)
		m->of_image[i] = NO_INDEX;
	find_extents(m, p);
	put_main_first(m, p);
	place_all(m, p);
}

void mappings_fini(struct mappings *m)
{
	vec_fini(&m->list);
	free(m->of_image);
	free(m->numbers);
}

const struct mapping *mapping_of(const struct mappings *m, uint32_t image)
{
	return m->of_image[image] == NO_INDEX ? NULL : &m->list.data[m->of_image[image]];
}

uint64_t mapping_address(const struct mappings *m, const struct profile *p,
			 const struct profile_place *place)
{
	uint32_t image = p->functions.data[place->function].image;
	const struct mapping *mapping = mapping_of(m, image);

	if (!mapping || has_runtime_addresses(p->images.data[image].image))
		return place->offset;
	return mapping->start + (range_offset(m, p, place) - mapping->file_off);
}
