/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `--control`: messages that steer a recording, and their acknowledgements, as perf record has
 *them.
 *
 *	fifo:CTL[,ACK]     named pipes; whoever writes may come and go
 *	fd:N[,M]           descriptors that are open already
 *
 * A message is a word up to a newline (or NUL), and may have an argument behind a space. When it is
 * done, "ack" and a newline are written to ACK. What is no message is told and not acknowledged, as
 * in perf.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

/* X(id, word, what it may have as an argument; "": nothing) */
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
 * Bytes to messages, wherever reads cut them. { 0 } is ready. The text of a message is whole until
 * the next call: words longer than any message are kept up to the buffer's size.
 */
struct control_text {
	char text[256];
	size_t n;
};

/*
 * Takes bytes up to the end of a message; *used says how many. True: there is one in text, without
 * spaces around it (empty lines are none). False: more bytes are needed.
 */
bool control_text_feed(struct control_text *t, const char *bytes, size_t size, size_t *used);

/* Nothing more comes: what is there is the last message. False: there is nothing. */
bool control_text_end(struct control_text *t);

/* The message that the text is; -1: none. *argument: "" without one. */
int control_text_message(const struct control_text *t, const char **argument);

struct control_channel;

/*
 * -EINVAL: bad words; else what is in the way of the FIFO, by its name. Opening never waits for
 * the other side.
 */
int control_channel_open(const char *spec, struct control_channel **out, struct error *err);
void control_channel_close(struct control_channel *c); /* NULL is fine */

/* Is readable (an epoll descriptor) while there is something to do. */
int control_channel_fd(const struct control_channel *c);

/*
 * The next message that is there: 1, or 0: none now. *argument holds until the next call. What is
 * no message goes to `tell`, with a sentence.
 */
int control_channel_next(struct control_channel *c, enum control_message *out,
			 const char **argument, void (*tell)(void *context, const char *sentence),
			 void *context);

/* The message is done. Kept and written later where the reader is slow. */
void control_channel_ack(struct control_channel *c);
