/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of control groups and the files of container engines. */
#pragma once

#include "profile/query.h"

#include "scratch.h"
#include "store_world.h"

#define ID  "3f0c4f1e2d9b8a7c6e5f40312a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b"
#define ID2 "aaaabbbbccccddddeeeeffff00001111222233334444555566667777888899aa"
#define UID "1b0c9d8e-7f6a-4b4c-9d2e-1f0a9b8c7d6e"

static const struct {
	const char *path, *file, *text, *container, *pod;
} engine_cases[] = {
	{ "/machine.slice/libpod-" ID ".scope",
	  "var/lib/containers/storage/overlay-containers/volatile-containers.json",
	  "[{\"id\":\"" ID "\",\"names\":[\"web\",\"other\"]}]", "web", NULL },
	{ "/docker/" ID, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web\"}",
	  "web", NULL },
	{ "/system.slice/cri-containerd-" ID ".scope",
	  "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	  "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\"}}", "app", NULL },
	{ "/kubepods/burstable/pod" UID "/" ID,
	  "var/log/containers/web-5d8f_default_my-app-" ID ".log", "", "my-app", NULL },
	{ "/kubepods/burstable/pod" UID "/x", "var/log/pods/default_web-5d8f_" UID "/0.log", "",
	  NULL, "default/web-5d8f" },
	/* no file of an engine */
	{ "/docker/" ID, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web",
	  NULL, NULL },
	{ "/docker/" ID, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":[[]]}", NULL,
	  NULL },
	{ "/docker/" ID, "var/lib/docker/containers/" ID "/config.v2.json/directory", "", NULL,
	  NULL },
};

#define CONTAINERS "overlay-containers/containers.json"

/* Where podman keeps its containers, and its pods' names. */
static const struct {
	const char *path, *conf, *conf_text, *file, *seed; /* seed NULL: the text WEB */
	bool is_pod;
} storage_cases[] = {
	{ "/libpod-" ID, "etc/containers/storage.conf", "[storage]\ngraphroot = \"/srv/storage\"\n",
	  "srv/storage/" CONTAINERS, NULL, false },
	{ "/user.slice/user-4711.slice/libpod-" ID ".scope", "etc/passwd",
	  "root:x:0:0::/root:\nsomebody:x:4711:4711::/home/s:/bin/sh\n",
	  "home/s/.local/share/containers/storage/" CONTAINERS, NULL, false },
	{ "/user.slice/user-4711.slice/libpod-" ID ".scope",
	  "home/s/.config/containers/storage.conf", "[storage]\ngraphroot='/home/s/own'\n",
	  "home/s/own/" CONTAINERS, NULL, false },
	{ "/user.slice/user-4711.slice/libpod-" ID ".scope", "etc/containers/storage.conf",
	  "[storage]\nrootless_storage_path = \"/data/$USER/$UID\"\n",
	  "data/somebody/4711/" CONTAINERS, NULL, false },
	{ "/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID2 ".scope", NULL, NULL,
	  "var/lib/containers/storage/libpod/bolt_state.db", "bolt", true },
	{ "/libpod_parent/" ID "/libpod-" ID2, NULL, NULL,
	  "var/lib/containers/storage/libpod/bolt_state.db", "bolt_small", true },
	{ "/libpod_parent/" ID "/libpod-" ID2, NULL, NULL, "var/lib/containers/storage/db.sql",
	  "sqlite", true },
};
