/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers and pods in the files of local engines. No engine is asked.
 *
 *	podman, CRI-O   STORAGE/{overlay,vfs,btrfs}-containers/[volatile-]containers.json: an array
 *	                of objects with "id" and "names" (containers/storage, container.go).
 *	                STORAGE: see machine/storage_places.h. A container below user-UID.slice is
 *	                looked up in that user's storage first. Pods: machine/podman_pods.h
 *	docker          /var/lib/docker/containers/ID/config.v2.json: "Name", with a slash in front
 *	containerd      /run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json: the
 *	                annotations io.kubernetes.cri.container-name (pkg/cri/annotations) and
 *	                nerdctl/name
 *	Kubernetes      /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, and
 *	                /var/log/pods/NAMESPACE_POD_UID/
 *
 * The files are hostile. The guard opens them (guard/open.h), and no link at the end of a path. The
 * files of a user's storage must be his own; others must be root's or of assay's user. At most 4
 *MiB of root's files and 256 KiB of others' are read. A file or folder is read again only when it
 *has changed.
 */
#pragma once

#include <stddef.h>

#include "machine/cgroup_name.h"
#include "machine/container_names.h"

struct engine_files;

/* `root` is put before all paths: "" for this machine. */
struct engine_files *engine_files_new(const char *root);
void engine_files_free(struct engine_files *f); /* NULL is fine */

/* The name, valid until the next call; NULL: no file has it. */
const char *engine_files_container(struct engine_files *f, const struct cgroup_names *names);
const char *engine_files_pod(struct engine_files *f, const struct cgroup_names *names);

/* The parsers. */
void engine_parse_storage(struct container_names *n, const char *json, size_t size);
void engine_parse_docker(struct container_names *n, const char *id, const char *json, size_t size);
void engine_parse_containerd(struct container_names *n, const char *id, const char *json,
			     size_t size);
void engine_parse_log(struct container_names *n, const char *file); /* a name in log/containers */
void engine_parse_pod(struct container_names *n, const char *dir);  /* a name in log/pods */
