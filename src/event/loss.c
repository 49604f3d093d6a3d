/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/loss.h"

const struct loss_text loss_texts[N_LOSS_REASONS] = {
#define X(id, kind, key, text) [LOSS_##id] = { LOSS_##kind, key, text },
	LOSS_REASONS(X)
#undef X
};

uint64_t losses_of_kind(const uint64_t losses[static N_LOSS_REASONS], enum loss_kind kind)
{
	uint64_t n = 0;

	for (int i = 0; i < N_LOSS_REASONS; i++)
		n += loss_texts[i].kind == kind ? losses[i] : 0;
	return n;
}
