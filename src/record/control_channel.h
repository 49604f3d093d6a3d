/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `--control`: messages that steer a recording, and their acknowledgements, as perf record has
 * them.
 *
 *	fifo:CTL[,ACK]     named pipes; writers may come and go
 *	fd:N[,M]           descriptors that are open already
 *
 * A message is a word up to a newline (or NUL), and may have an argument behind a space. When it is
 * done, "ack" and a newline are written to ACK. Other text is reported and not acknowledged, as in
 * perf.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

/* X(id, word, its possible argument; "": none) */
#define CONTROL_MESSAGES(X)            \
	X(ENABLE, "enable", "EVENT")   \
	X(DISABLE, "disable", "EVENT") \
	X(SNAPSHOT, "snapshot", "")    \
	X(STOP, "stop", "")            \
	X(PING, "ping", "")            \
	X(EVLIST, "evlist", "-v, -g or -F")

enum control_message {
#define X(id, word, argument) CONTROL_##id,
	CONTROL_MESSAGES(X)
#undef X
		N_CONTROL_MESSAGES
};

extern const char *const control_message_words[N_CONTROL_MESSAGES];

/*
 * Bytes to messages, however reads split them. { 0 } is ready. The text of a message is complete
 * until the next call; words longer than any message are kept up to the buffer's size.
 */
struct control_text {
	char text[256];
	size_t n;
};

/*
 * Takes bytes up to the end of a message; *used is their number. True: `text` has a message,
 * without spaces around it (empty lines are skipped). False: more bytes are needed.
 */
bool control_text_feed(struct control_text *t, const char *bytes, size_t size, size_t *used);

/* The end of the input: the rest is the last message. False: there is no rest. */
bool control_text_end(struct control_text *t);

/* The message of the text; -1: none. *argument: "" without one. */
int control_text_message(const struct control_text *t, const char **argument);

struct control_channel;

/*
 * -EINVAL: wrong syntax; else the reason why the FIFO can't be opened, with its name. Opening never
 * waits for the other side.
 */
int control_channel_open(const char *spec, struct control_channel **out, struct error *err);
void control_channel_close(struct control_channel *c); /* NULL is fine */

/* An epoll descriptor, readable while there is work. */
int control_channel_fd(const struct control_channel *c);

/*
 * The next message: 1, or 0: none now. *argument is valid until the next call. Other text goes to
 * `report`, with a sentence.
 */
int control_channel_next(struct control_channel *c, enum control_message *out,
			 const char **argument, void (*report)(void *context, const char *sentence),
			 void *context);

/* The message is done. If the reader is slow, the ack is kept and written later. */
void control_channel_ack(struct control_channel *c);
