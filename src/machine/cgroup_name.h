/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a cgroup's path says of who made it: systemd's unit, the container, the pod.
 *
 *	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b…_9f.slice/cri-containerd-4f5e….scope
 *	        pod 1a2b…-9f, burstable                                      container containerd,
 *4f5e… /system.slice/docker-4f5e….scope/system.slice/nginx.service container docker, 4f5e… unit
 *nginx.service
 *
 * The path alone is looked at, nothing is asked of anybody: systemd's names as systemd.unit(5) and
 * systemd's "Control Group APIs and Delegation" have them, containers' as their runtimes name
 *cgroups with the systemd and the cgroupfs driver, of cgroup v1 and v2. The innermost one of each
 *kind counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cgroup_names {
	char unit[256];      /* the innermost service, scope …, else slice; "" if there is none */
	char container[256]; /* its whole id, or its name (lxc, nspawn); "" */
	char pod[65];        /* uid with dashes; of podman its pod's id; "" */
	const char *runtime; /* of the container: "docker", "containerd" …; "" with it */
	const char *container_name, *pod_name; /* NULL: not known; the caller's, not the path's */
	int64_t user;    /* whose user-UID.slice it is in, the outermost one; -1: nobody's */
	const char *qos; /* of a Kubernetes pod: "guaranteed", "burstable" or "besteffort"; "" */
};

/* Any text will do; names that don't fit are cut. */
void cgroup_names_of(const char *path, struct cgroup_names *out);

/*
 * For people: "docker:4f5e6a7b8c9d" (ids as docker ps has them), and "UID (burstable)"; with names
 * "docker:web (4f5e6a7b8c9d)" and "default/web-5d8f (UID burstable)". "" for none. Return `out`.
 */
#define CGROUP_TEXT_SIZE 640
const char *cgroup_container_text(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE]);
const char *cgroup_pod_text(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE]);
