/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/piles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/reserve.h"

#define BATCH_SAMPLES 262144            /* that are put away together */
#define MEMORY_BYTES  ((size_t)4 << 20) /* of samples that were put away */

struct piling {
	struct piles *piles;
	pile_chooser *choose;
	void *context;
};

/* The batch's samples by pile: a counting sort, which keeps the order of time. */
static uint32_t *batch_by_pile(const struct piles *piles)
{
	uint32_t *ends = xcalloc((size_t)piles->n + 1, sizeof(*ends)), at = 0;
	uint32_t *order = xcalloc(piles->batch.n + 1, sizeof(*order));

	vec_foreach (&piles->batch, s)
		ends[s->pile]++;
	for (uint32_t i = 0; i < piles->n; i++) {
		uint32_t n = ends[i];

		ends[i] = at;
		at += n;
	}
	for (uint32_t i = 0; i < piles->batch.n; i++)
		order[ends[piles->batch.data[i].pile]++] = i;
	free(ends);
	return order;
}

/* A sample mostly has the weight of the one before. */
static void put_away_sample(struct buf *out, const struct profile_sample *s,
			    const struct profile_sample *before)
{
	bool has_same = s->weight.samples == before->weight.samples &&
			s->weight.period == before->weight.period;

	buf_uleb(out, s->time_ns - before->time_ns);
	buf_uleb(out, (uint64_t)s->group << 2 | (uint64_t)s->is_exact << 1 | has_same);
	buf_uleb(out, s->node);
	if (!has_same) {
		buf_uleb(out, s->weight.samples);
		buf_uleb(out, s->weight.period);
	}
}

static struct profile_sample get_sample(struct reader *r, const struct profile_sample *before)
{
	struct profile_sample s = { .weight = before->weight };
	uint64_t group;

	s.time_ns = before->time_ns + reader_uleb(r);
	group = reader_uleb(r);
	s.group = (uint32_t)(group >> 2);
	s.is_exact = group >> 1 & 1;
	s.node = (uint32_t)reader_uleb(r);
	if (!(group & 1)) {
		s.weight.samples = reader_uleb(r);
		s.weight.period = reader_uleb(r);
	}
	return s;
}

static int move_to_file(struct piles *piles)
{
	int r;

	if (piles->fd < 0)
		piles->fd = file_open_nameless();
	if (piles->fd < 0)
		return piles->fd;
	r = file_write_all(piles->fd, piles->bytes.data, piles->bytes.len);
	piles->in_file += piles->bytes.len;
	piles->bytes.len = 0;
	return r;
}

static int put_away_batch(struct piles *piles)
{
	uint32_t *order = batch_by_pile(piles);
	struct profile_sample before = { 0 };
	struct pile_piece *piece = NULL;

	for (size_t i = 0; i < piles->batch.n; i++) {
		const struct pile_sample *s = &piles->batch.data[order[i]];
		size_t from = piles->bytes.len;

		if (!piece || piece->pile != s->pile) {
			piece = vec_add(&piles->pieces);
			piece->pile = s->pile;
			piece->at = piles->in_file + from;
			before = (struct profile_sample){ 0 };
		}
		put_away_sample(&piles->bytes, &s->sample, &before);
		before = s->sample;
		piece->size += piles->bytes.len - from;
		piece->n++;
	}
	free(order);
	piles->batch.n = 0;
	if (reserve_check() < 0)
		return -ENOMEM;
	return piles->bytes.len >= MEMORY_BYTES ? move_to_file(piles) : 0;
}

static int pile_up(void *context, const struct profile_sample *sample)
{
	struct piling *p = context;
	uint32_t pile = p->choose(p->context, sample);

	if (pile == NO_INDEX)
		return 0;
	vec_push(&p->piles->batch, (struct pile_sample){ pile, *sample });
	return p->piles->batch.n < BATCH_SAMPLES ? 0 : put_away_batch(p->piles);
}

static int by_pile_and_place(const void *a, const void *b)
{
	const struct pile_piece *x = a, *y = b;

	if (x->pile != y->pile)
		return x->pile < y->pile ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void sort_pieces(struct piles *piles)
{
	if (piles->pieces.n)
		qsort(piles->pieces.data, piles->pieces.n, sizeof(*piles->pieces.data),
		      by_pile_and_place);
	vec_foreach (&piles->pieces, piece)
		piles->first_piece[piece->pile + 1]++;
	for (uint32_t i = 0; i < piles->n; i++)
		piles->first_piece[i + 1] += piles->first_piece[i];
}

int piles_init(struct piles *piles, uint32_t n, struct profile *p, pile_chooser *choose,
	       void *context, struct error *err)
{
	struct piling piling = { piles, choose, context };
	int r;

	*piles = (struct piles){ .n = n, .fd = -1 };
	piles->first_piece = xcalloc((size_t)n + 2, sizeof(*piles->first_piece));
	r = profile_each_sample(p, pile_up, &piling);
	if (!r)
		r = put_away_batch(piles);
	if (!r && piles->fd >= 0)
		r = move_to_file(piles);
	vec_fini(&piles->batch);
	sort_pieces(piles);
	if (r == -ENOMEM)
		return reserve_error(err);
	return r < 0 ? error_errno(err, r, "a temporary file for samples") : 0;
}

void piles_fini(struct piles *piles)
{
	vec_fini(&piles->batch);
	vec_fini(&piles->pieces);
	buf_fini(&piles->bytes);
	free(piles->first_piece);
	if (piles->fd >= 0)
		close(piles->fd);
}

void pile_open(const struct piles *piles, uint32_t pile, struct pile_reader *out)
{
	*out = (struct pile_reader){ .piles = piles,
				     .piece = piles->first_piece[pile],
				     .end = piles->first_piece[pile + 1] };
}

static int read_piece(struct pile_reader *r, const struct pile_piece *piece)
{
	r->copy.len = 0;
	buf_reserve(&r->copy, piece->size);
	while (r->copy.len < piece->size) {
		ssize_t n = pread(r->piles->fd, r->copy.data + r->copy.len,
				  piece->size - r->copy.len, (off_t)(piece->at + r->copy.len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		r->copy.len += (size_t)n;
	}
	r->bytes = reader_over(r->copy.data, r->copy.len);
	return 0;
}

static void open_piece(struct pile_reader *r)
{
	const struct pile_piece *piece = &r->piles->pieces.data[r->piece++];

	r->left = piece->n;
	r->sample = (struct profile_sample){ 0 };
	if (r->piles->fd < 0)
		r->bytes = reader_over(r->piles->bytes.data + piece->at, piece->size);
	else
		r->code = read_piece(r, piece);
}

bool pile_next(struct pile_reader *r)
{
	if (!r->left && r->piece < r->end && !r->code)
		open_piece(r);
	if (!r->left || r->code)
		return false;
	r->left--;
	r->sample = get_sample(&r->bytes, &r->sample);
	if (r->bytes.bad)
		r->code = -EIO;
	return !r->code;
}

int pile_close(struct pile_reader *r, struct error *err)
{
	buf_fini(&r->copy);
	return r->code < 0 ? error_errno(err, r->code, "a temporary file for samples") : 0;
}
