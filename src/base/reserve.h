/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reserve of memory: reading a file ends with -ENOMEM, and not with the process.
 *
 * The functions of base/mem.h cannot fail. When the system refuses them memory, they return the
 * reserve to the system and try again. So code that reads files needs no check behind each
 * allocation, but has two duties:
 *
 *   - It calls reserve_check() at each step, for example a record, a line, a block or an image, and
 *     ends there if that fails. A step allocates less than RESERVE_STEP bytes.
 *   - Before it allocates more, it adds as many bytes to the reserve, with reserve_take(). If a
 *     single allocation can be left out, mem_try() is enough.
 *
 * Code that cannot return an error leaves its work undone. reserve_failures() then counts on, and
 * the caller at the top (libassay, commands/main.c) reports -ENOMEM.
 *
 * The reserve is address space that nobody writes to, so it takes no memory. It belongs to the
 * process, as its memory does. Programs without reserve_begin(), such as recorders, have none:
 * reserve_check() and reserve_take() then succeed, and an allocation that fails ends the process.
 * All functions may be called from all threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define RESERVE_STEP ((size_t)64 << 20)

/* Holds the reserve for one more user. -ENOMEM: there is not enough memory for it. */
int reserve_begin(void);
void reserve_end(void);

/* Bytes beside those of a step, for one piece of work. { 0 } is empty. */
struct reserve {
	size_t bytes;
};
/* n elements of `size` bytes. -ENOMEM, or 0: allocations of so many bytes will succeed. */
int reserve_take(struct reserve *r, size_t n, size_t size);
void reserve_drop(struct reserve *r); /* for cleanup() */

/* For reserve_check(): there are users, and the reserve is not there. */
extern atomic_bool reserve_is_spent;
int reserve_refill(void);

/* -ENOMEM: an allocation has failed since, and there is not enough memory for a new reserve. */
static inline int reserve_check(void)
{
	return atomic_load_explicit(&reserve_is_spent, memory_order_relaxed) ? reserve_refill() : 0;
}

/* How often one of these functions, or mem_try(), has failed. */
uint32_t reserve_failures(void);
void reserve_count_failure(void);
/* -ENOMEM. The message starts so, and names the process's limit of memory, if it has one. */
#define RESERVE_MESSAGE "there is not enough memory"
int reserve_error(struct error *err);

/*
 * Returns the reserve to the system. False: there is no user. True: no other thread takes it back
 * before reserve_spent() is called, so that the caller can.
 */
bool reserve_spend(void);
void reserve_spent(void);

/*
 * The value of `allocation`; if it is NULL, once more after the reserve is spent. The allocation
 * may call no function of this header.
 */
#define mem_or_spend(allocation)                              \
	({                                                    \
		__typeof__(allocation) first_ = (allocation); \
		if (!first_ && reserve_spend()) {             \
			first_ = (allocation);                \
			reserve_spent();                      \
		}                                             \
		first_;                                       \
	})

/*
 * For a child of fork(2): it has no reserve, and an allocation that fails ends it. So its parent
 * notices, and takes no incomplete answer.
 */
void reserve_forget(void);
