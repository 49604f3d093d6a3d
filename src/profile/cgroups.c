/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cgroups as keys and filters: a path, and the unit, container and pod in it. */
#include <stdio.h>
#include <string.h>

#include "machine/cgroup_name.h"
#include "profile/index.h"
#include "store/history/containers.h"

static const enum profile_key keys[N_CGROUP_KEYS] = {
	[CGROUP_PATH] = PROFILE_CGROUP,
	[CGROUP_UNIT] = PROFILE_UNIT,
	[CGROUP_CONTAINER] = PROFILE_CONTAINER,
	[CGROUP_POD] = PROFILE_POD,
};

static const char *const none_texts[N_CGROUP_KEYS] = {
	[CGROUP_PATH] = "[unknown]",
	[CGROUP_UNIT] = "[no unit]",
	[CGROUP_CONTAINER] = "[no container]",
	[CGROUP_POD] = "[no pod]",
};

static int of_key(enum profile_key key)
{
	for (int i = 0; i < N_CGROUP_KEYS; i++)
		if (keys[i] == key)
			return i;
	return -1;
}

/* A name as it is, or without its last part: "ssh" for "ssh.service". */
static bool takes_unit(const struct query *q, const char *unit)
{
	const char *dot = strrchr(unit, '.');
	cleanup(free_at_exit) char *name = xstrndup(unit, dot ? (size_t)(dot - unit) : 0);

	return query_takes_glob(q, FILTER_UNIT, unit) ||
	       (*name && query_takes_glob(q, FILTER_UNIT, name));
}

/* A cgroup, or one above it. */
static bool takes_path(const struct query *q, const char *path)
{
	cleanup(free_at_exit) char *above = xstrdup(path);

	while (!query_takes_glob(q, FILTER_CGROUP, above)) {
		char *slash = strrchr(above, '/');

		if (!slash || slash == above)
			return false;
		*slash = '\0';
	}
	return true;
}

static bool takes_any(const struct query *q, enum filter_tag tag, const char *const *texts,
		      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (texts[i] && query_takes_glob(q, tag, texts[i]))
			return true;
	return false;
}

/* As it is shown, with and without a name; by its name; by its runtime's id, short and whole. */
static bool takes_container(const struct query *q, const char *text,
			    const struct cgroup_names *names)
{
	struct cgroup_names nameless = *names;
	char by_id[CGROUP_TEXT_SIZE], by_name[CGROUP_TEXT_SIZE] = "";
	const char *colon,
		*texts[] = { text, by_id, by_name, names->container, names->container_name, NULL };

	nameless.container_name = NULL;
	cgroup_container_text(&nameless, by_id);
	colon = strchr(by_id, ':');
	texts[ARRAY_SIZE(texts) - 1] = colon ? colon + 1 : NULL;
	if (names->container_name)
		snprintf(by_name, sizeof(by_name), "%s:%s", names->runtime, names->container_name);
	else
		texts[2] = NULL;
	if (!*names->container) /* only the shown text can match */
		return query_takes_glob(q, FILTER_CONTAINER, text);
	return takes_any(q, FILTER_CONTAINER, texts, ARRAY_SIZE(texts));
}

/* As it is shown, with and without a name; by its name; by its uid, whole or its first part. */
static bool takes_pod(const struct query *q, const char *text, const struct cgroup_names *names)
{
	struct cgroup_names nameless = *names;
	char by_uid[CGROUP_TEXT_SIZE], head[sizeof(names->pod)];
	const char *slash = names->pod_name ? strchr(names->pod_name, '/') : NULL;
	const char *const texts[] = { text, by_uid,          names->pod,
				      head, names->pod_name, slash ? slash + 1 : NULL };

	if (!*names->pod)
		return query_takes_glob(q, FILTER_POD, text);
	nameless.pod_name = NULL;
	cgroup_pod_text(&nameless, by_uid);
	snprintf(head, sizeof(head), "%.*s", *names->qos ? (int)strcspn(names->pod, "-") : 12,
		 names->pod);
	return takes_any(q, FILTER_POD, texts, ARRAY_SIZE(texts));
}

static const char *or_none(const char *text, int key)
{
	return *text ? text : none_texts[key];
}

static bool cgroups_match(const struct query *q, const char *path, const struct cgroup_names *names,
			  const char *container, const char *pod)
{
	return query_matches(q, FILTER_CGROUP, or_none(path, CGROUP_PATH), NULL) &&
	       query_matches(q, FILTER_UNIT, or_none(names->unit, CGROUP_UNIT), NULL) &&
	       query_matches(q, FILTER_CONTAINER, or_none(container, CGROUP_CONTAINER), NULL) &&
	       query_matches(q, FILTER_POD, or_none(pod, CGROUP_POD), NULL);
}

static bool cgroups_is_taken(const struct query *q, const char *path,
			     const struct cgroup_names *names, const char *container,
			     const char *pod)
{
	return (!query_has(q, FILTER_CGROUP) || takes_path(q, or_none(path, CGROUP_PATH))) &&
	       (!query_has(q, FILTER_UNIT) || takes_unit(q, or_none(names->unit, CGROUP_UNIT))) &&
	       (!query_has(q, FILTER_CONTAINER) ||
		takes_container(q, or_none(container, CGROUP_CONTAINER), names)) &&
	       (!query_has(q, FILTER_POD) || takes_pod(q, or_none(pod, CGROUP_POD), names)) &&
	       cgroups_match(q, path, names, container, pod);
}

/* What the user gave counts before what the session has. */
static const char *name_of(struct profile *p, const char *id)
{
	const struct container_names *given = p->index->query->containers;
	const char *name = given && *id ? container_names_find(given, id) : NULL;

	if (name || !*id)
		return name;
	if (!p->index->containers) {
		p->index->containers = container_names_new();
		containers_of_session(p->index->containers, p->session);
	}
	return container_names_find(p->index->containers, id);
}

static string_id cgroups_add_text(struct profile *p, const char *text)
{
	return strings_add(&p->cgroup_texts, text ? text : "");
}

/* All texts are made at once: of a path that is met for the first time. */
static void add_cgroup(struct profile *p, const char *path)
{
	char container[CGROUP_TEXT_SIZE], pod[CGROUP_TEXT_SIZE], service[CGROUP_TEXT_SIZE];
	struct profile_cgroup new;
	struct cgroup_names names;

	cgroup_names_of(path, &names);
	names.container_name = name_of(p, names.container);
	names.pod_name = name_of(p, names.pod);
	cgroup_container_text(&names, container);
	cgroup_pod_text(&names, pod);
	new.text[CGROUP_PATH] = strings_add(&p->cgroup_texts, path);
	new.text[CGROUP_UNIT] = strings_add(&p->cgroup_texts, names.unit);
	new.text[CGROUP_CONTAINER] = strings_add(&p->cgroup_texts, container);
	new.text[CGROUP_POD] = strings_add(&p->cgroup_texts, pod);
	new.container_name = cgroups_add_text(p, names.container_name);
	new.pod_name = cgroups_add_text(p, names.pod_name);
	new.service = cgroups_add_text(p, cgroup_service(&names, service));
	new.is_taken = cgroups_is_taken(p->index->query, path, &names, container, pod);
	vec_push(&p->cgroups, new);
}

uint32_t index_cgroup(struct profile *p, const char *path)
{
	bool is_new;
	uint32_t *at =
		intmap_put(&p->index->cgroups, strings_add(&p->cgroup_texts, path).n, &is_new);

	if (is_new) {
		*at = (uint32_t)p->cgroups.n;
		add_cgroup(p, path);
	}
	return *at;
}

bool index_wants_cgroups(const struct profile *p)
{
	const struct query *q = p->index->query;

	for (int i = 0; i < N_CGROUP_KEYS; i++)
		if (key_list_has(&p->class_keys, keys[i]))
			return true;
	return query_has(q, FILTER_SERVICE) || key_list_has(&p->class_keys, PROFILE_SERVICE) ||
	       query_has(q, FILTER_CGROUP) || query_has(q, FILTER_UNIT) ||
	       query_has(q, FILTER_CONTAINER) || query_has(q, FILTER_POD);
}

uint32_t profile_cgroup_value(const struct profile *p, enum profile_key key, uint32_t cgroup)
{
	int i = of_key(key);

	return i < 0 ? NO_INDEX : p->cgroups.data[cgroup].text[i].n;
}

const char *profile_cgroup_text(const struct profile *p, enum profile_key key, uint32_t value)
{
	int i = of_key(key);

	return or_none(strings_get(&p->cgroup_texts, (string_id){ value }), MAX(i, 0));
}
