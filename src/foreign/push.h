/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of requests by which Pyroscope's clients send profiles (grafana/pyroscope,
 * api/push/v1/push.proto and docs of the server's HTTP API):
 *
 * - POST /ingest: a form of multipart/form-data (RFC 7578) whose part "profile" is the profile, or
 *   the profile itself.
 * - /push.v1.PusherService/Push: a message PushRequest of several profiles with labels.
 *
 * A profile is pprof or folded stacks, gzipped or not. The label service_name is the name of
 * threads that have none. Other labels of a series are those of its samples, but not those that
 * begin with "__".
 */
#pragma once

#include "foreign/foreign.h"

/*
 * Push all samples. -EBADMSG: the body, or a profile in it, is damaged; the samples before were
 * pushed. -ENOTSUP: a profile has another format. -EFBIG: an unpacked profile is too large.
 */
int push_read_form(struct slice body, struct foreign_sink *sink, struct foreign_facts *facts,
		   struct error *err);
int push_read_request(struct slice body, struct foreign_sink *sink, struct foreign_facts *facts,
		      struct error *err);
