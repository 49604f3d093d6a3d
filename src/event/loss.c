/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/loss.h"

const struct loss_text loss_texts[N_LOSS_REASONS] = {
#define X(id, kind, key, text) [LOSS_##id] = { LOSS_##kind, key, text },
	LOSS_REASONS(X)
#undef X
};
