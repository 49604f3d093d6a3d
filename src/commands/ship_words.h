/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of words on the command line of `assay ship`, each of which may be several words. */
#pragma once

struct buf;
struct error;
struct option_list;
struct ship_config;

/* NAME=VALUE,…: a line each. -EINVAL: one is none. */
int ship_parse_labels(const struct option_list *labels, struct buf *out, struct error *err);

/* SERVICE,…: a line each. */
void ship_parse_leaves(const struct option_list *leaves, struct buf *out);

/* Sets without_comm and without_cgroup. -EINVAL: another word. */
int ship_parse_drop(const struct option_list *drop, struct ship_config *config, struct error *err);

/* -EINVAL: `to` is a server of another tool, which takes neither addresses nor labels. */
int ship_check_words(const char *to, const struct option_list *leaves,
		     const struct option_list *labels, struct error *err);
