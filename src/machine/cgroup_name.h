/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maker of a cgroup, from its path: systemd's unit, the container, the pod.
 *
 *	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b…_9f.slice/cri-containerd-4f5e….scope
 *	        pod 1a2b…-9f, burstable; container containerd, 4f5e…
 *	/system.slice/docker-4f5e….scope/system.slice/nginx.service
 *	        container docker, 4f5e…; unit nginx.service
 *
 * Only the path is used. It has systemd's names (systemd.unit(5), systemd's "Control Group APIs and
 * Delegation"). Container runtimes name their cgroups for the systemd and the cgroupfs driver, in
 * cgroup v1 and v2. The innermost match of each kind counts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cgroup_names {
	char unit[256];      /* the innermost service, scope …, else slice; "": none */
	char container[256]; /* its whole id, or its name (lxc, nspawn); "": none */
	char pod[65];        /* uid with dashes; the pod's id for podman; "": none */
	const char *runtime; /* of the container: "docker", "containerd" …; "": none */
	const char *container_name,
		*pod_name; /* NULL: not known; the caller sets them, not the path */
	int64_t user;      /* UID of the outermost user-UID.slice; -1: none */
	const char
		*qos; /* of a Kubernetes pod: "guaranteed", "burstable" or "besteffort"; "": none */
};

/* Accepts any text. Names that don't fit are cut. */
void cgroup_names_of(const char *path, struct cgroup_names *out);

/*
 * Text for people: "docker:4f5e6a7b8c9d" (ids as in docker ps) and "UID (burstable)"; with names
 * "docker:web (4f5e6a7b8c9d)" and "default/web-5d8f (UID burstable)". "" for none. Return `out`.
 */
#define CGROUP_TEXT_SIZE 640
const char *cgroup_container_text(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE]);
const char *cgroup_pod_text(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE]);

/*
 * The service that runs in a cgroup: the workload of a Kubernetes pod with a known name, else
 * systemd's service without its suffix, else the container's name. "" for none. Returns `out`.
 *
 *	pod default/web-66b6c48dd5-9k2xj           default/web
 *	nginx.service                              nginx
 *	container docker:shop-db-1                 shop-db-1
 *
 * A workload is the pod's name without the parts that Kubernetes' controllers add. These are five
 * random characters (rand.String() of k8s.io/apimachinery). Before them stands the hash of a
 * Deployment (rand.SafeEncodeString()) or the minute of a CronJob. A pod of a StatefulSet has a
 * number instead. A pod of podman keeps its whole name.
 */
const char *cgroup_service(const struct cgroup_names *names, char out[CGROUP_TEXT_SIZE]);
