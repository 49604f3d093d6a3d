/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of words on the command line of `assay ship`, each of which may be several words. And the
 * lines that it prints.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct error;
struct option_list;
struct kubelet;
struct kubelet_config;
struct ship_config;
struct ship_result;

/* NAME=VALUE,…: a line each. -EINVAL: one is none. */
int ship_parse_labels(const struct option_list *labels, struct buf *out, struct error *err);

/* SERVICE,…: a line each. */
void ship_parse_leaves(const struct option_list *leaves, struct buf *out);

/* Sets without_comm and without_cgroup. -EINVAL: another word. */
int ship_parse_drop(const struct option_list *drop, struct ship_config *config, struct error *err);

/* -EINVAL: the name is that of the host with pushed profiles (FLEET_PUSHED_HOST). */
int ship_check_host(const char *host, struct error *err);

/* -EINVAL: `to` is a server of another tool, which takes neither addresses nor labels. */
int ship_check_words(const char *to, const struct option_list *leaves,
		     const struct option_list *labels, struct error *err);

/* Logs what a round sent, unless `quiet`, and what expired. */
void ship_print_round(const struct ship_result *r, bool quiet);

/* Logs why a round without an error, of which *r is the result, had no block to send. */
void ship_print_nothing(const struct ship_result *r, uint64_t now_ns);

/*
 * Makes the kubelet that `config` asks for names of pods, if one is named. The caller frees it
 * after the ship.
 */
int ship_open_kubelet(const struct kubelet_config *kubelet, struct ship_config *config,
		      struct kubelet **out, struct error *err);

/* Copies what a fleet knows of a host to another fleet, which is made. */
int ship_copy_host(const char *from, const char *to, const char *name, struct error *err);
