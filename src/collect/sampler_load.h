/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading the sampler's programs. */
#pragma once

struct error;
struct sampler;

/* Loads the programs that s->config asks for, with maps of the right sizes. */
int sampler_load(struct sampler *s, struct error *err);
