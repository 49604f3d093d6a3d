/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of pods and containers, asked of the kubelet of this node (GET /pods, a PodList of the
 * Kubernetes API). The operator allows it: assay asks no kubelet by itself.
 *
 * The names go to the fleet as those that a recorder found (store/history/containers.h): a pod is
 * NAMESPACE/NAME by its uid, and a container has its name in the pod by its id.
 *
 * One thread. The answer is not trusted: it may have 16 MiB, and other lines than names are left
 * out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct buf;
struct error;
struct kubelet;

struct kubelet_config {
	const char *url;        /* https://HOST:10250; http:// of this machine alone */
	const char *token_file; /* a line with a bearer token, read at each question; NULL: none */
	const char *ca;         /* the only issuers of its certificate (PEM); NULL: the system's */
	bool (*stops)(void);    /* true ends a request; may be NULL */
};

/* The texts are copied. -EINVAL: the URL. Others as of http_client_new(). */
int kubelet_new(const struct kubelet_config *config, struct kubelet **out, struct error *err);
void kubelet_free(struct kubelet *k); /* NULL is fine */
DEFINE_AT_EXIT(kubelet_free, struct kubelet)

/*
 * Appends a line "ID NAME" for each pod and container. -EACCES: the kubelet refuses the token, or
 * has no such right for it. Other errors: it does not answer, or with something else.
 */
int kubelet_ask(struct kubelet *k, struct buf *lines, struct error *err);

/* The same of a PodList as text. -EBADMSG: it is none. Public for the fuzzer. */
int kubelet_parse_pods(const char *json, size_t size, struct buf *lines);
