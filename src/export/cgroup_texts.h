/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts that exports give a class's cgroup: labels, attributes, columns. */
#pragma once

#include "export/names.h"
#include "profile/profile.h"

/* X(id, pprof's label, OTLP's attribute, column, help): rows of all exports. */
#define CGROUP_TEXTS(X)                                                                        \
	X(PATH, "cgroup", "process.linux.cgroup", "cgroup", "path of the control group")       \
	X(UNIT, "unit", "systemd.unit", "unit", "unit of systemd")                             \
	X(CONTAINER, "container", "container.id", "container",                                 \
	  "id of the container, or its name if it has no id")                                  \
	X(CONTAINER_NAME, "container_name", "container.name", "container_name",                \
	  "name of the container, if it is known")                                             \
	X(RUNTIME, "container_runtime", "container.runtime.name", "container_runtime",         \
	  "what runs the container")                                                           \
	X(POD, "pod", "k8s.pod.uid", "pod", "uid of the Kubernetes pod")                       \
	X(POD_NAME, "pod_name", "k8s.pod.name", "pod_name", "name of the pod, if it is known") \
	X(POD_NAMESPACE, "pod_namespace", "k8s.namespace.name", "pod_namespace",               \
	  "Kubernetes namespace of the pod, if it is known")

enum cgroup_text {
#define X(id, label, attribute, column, help) CGROUP_TEXT_##id,
	CGROUP_TEXTS(X)
#undef X
		N_CGROUP_TEXTS
};

struct cgroup_texts {
	const char *text[N_CGROUP_TEXTS]; /* "": none; UTF-8, valid as long as `names` */
};

/*
 * The texts of each path, by the value of PROFILE_CGROUP, which has to be among the profile's keys.
 * The caller frees them.
 */
struct cgroup_texts *cgroup_texts_new(const struct profile *p, struct frame_names *frames);
