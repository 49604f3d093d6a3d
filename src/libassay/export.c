/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "libassay/handles.h"

/* Formats of profiles that are a file: databases on a server and branch stacks are not. */
static bool is_offered(const struct export_format *format)
{
	return format->ops->target != EXPORT_PLACE && !format->ops->from_recording;
}

static const struct export_format *format_at(size_t index)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (is_offered(f) && !index--)
			return f;
	return NULL;
}

ASSAY_API const char *assay_export_format(size_t index)
{
	const struct export_format *f = format_at(index);

	return f ? f->name : NULL;
}

ASSAY_API const char *assay_export_help(size_t index)
{
	const struct export_format *f = format_at(index);

	return f ? f->help : NULL;
}

static int write_export(struct assay_session *session, const struct assay_query *query,
			const struct export_format *format, const char *path, struct error *err)
{
	struct query samples = query ? query->samples : (struct query){ 0 };
	struct profile_request request = { .query = &samples };
	struct export_options options = { .by_period = query && query->weighs_events,
					  .merged = SEPARATE_ALL &
						    ~(SEPARATE_LIB | SEPARATE_KERNEL) };
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	uint64_t n_bytes;
	int r;

	samples.containers = input_containers(session->in);
	export_request(format, &request);
	request.session = session->session;
	request.symbols = session->symbols;
	r = input_profile(&request, session->is_damaged, &profile, err);
	if (r < 0)
		return r == -ENOMEM ? r : -ENODATA;
	return export_write(format, &options, profile, path, &n_bytes, err);
}

ASSAY_API int assay_export(struct assay_session *session, const struct assay_query *query,
			   const char *format, const char *path, struct assay_error *error)
{
	const struct assay_work work = assay_begin_work();
	const struct export_format *f;
	struct error err = { 0 };
	int r;

	if (!session || !format || !path)
		return assay_refuse(error, -EINVAL,
				    "an export needs a session, a format and a path");
	f = export_find(format);
	if (!f || !is_offered(f)) {
		error_set(&err, -EINVAL,
			  "there is no format '%s'; assay_export_format() lists them", format);
		return assay_give_error(error, -EINVAL, &err);
	}
	/* "-" is a file here, as others are: the library never prints. */
	r = write_export(session, query, f, strcmp(path, "-") ? path : "./-", &err);
	r = assay_end_work(&work, r, &err);
	return r < 0 ? assay_give_error(error, r, &err) : 0;
}
