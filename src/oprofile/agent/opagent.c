/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libopagent.so.1: OProfile's calls for compilers, as a jitdump (Linux,
 * tools/perf/Documentation/jitdump-specification.txt).
 *
 *	op_write_native_code      CODE_LOAD
 *	op_write_debug_line_info  CODE_DEBUG_INFO, and the CODE_LOAD once more
 *	op_unload_native_code     CODE_LOAD of "[unloaded]" at the place
 *
 * In a jitdump, lines come before their code. It has no record for the end of code.
 *
 * It stands alone: nothing of assay is linked into programs that use it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <opagent.h>

#if defined(__x86_64__)
#define AGENT_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define AGENT_MACHINE EM_AARCH64
#else
#define AGENT_MACHINE EM_NONE
#endif

#define JITDUMP_MAGIC   0x4a695444
#define JITDUMP_VERSION 1

enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

struct dump_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time_ns, flags;
};

struct record_head {
	uint32_t id, size;
	uint64_t time_ns;
};

struct load_body {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct line_entry {
	uint64_t addr;
	uint32_t line, column;
};

/* Code that was written and is not unloaded. */
struct agent_code {
	uint64_t vma;
	uint64_t key; /* the address of its bytes when it was written; vma without them */
	uint32_t size;
	uint64_t bytes_off; /* of them in the dump */
	char *name;
};

/* One for a process. */
static struct {
	pthread_mutex_t lock;
	bool has_fork_handlers;
	uint32_t n_open;
	pid_t pid; /* of the dump; a child has another one */
	int fd;    /* -1: there is no dump */
	void *marker;
	size_t page;
	uint64_t end, next_index; /* bytes of the dump; the number of the next code */
	void *by_vma, *by_key;    /* tsearch(3) */
} agent = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* ---- codes ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_vma(const void *a, const void *b)
{
	return compare_u64(((const struct agent_code *)a)->vma,
			   ((const struct agent_code *)b)->vma);
}

static int compare_key(const void *a, const void *b)
{
	return compare_u64(((const struct agent_code *)a)->key,
			   ((const struct agent_code *)b)->key);
}

static struct agent_code *find_vma(uint64_t vma)
{
	const struct agent_code wanted = { .vma = vma };
	struct agent_code *const *at = tfind(&wanted, &agent.by_vma, compare_vma);

	return at ? *at : NULL;
}

static struct agent_code *find_key(uint64_t key)
{
	const struct agent_code wanted = { .key = key };
	struct agent_code *const *at = tfind(&wanted, &agent.by_key, compare_key);

	return at ? *at : NULL;
}

static void forget(struct agent_code *code)
{
	if (!code)
		return;
	if (find_vma(code->vma) == code)
		tdelete(code, &agent.by_vma, compare_vma);
	if (find_key(code->key) == code)
		tdelete(code, &agent.by_key, compare_key);
	free(code->name);
	free(code);
}

/* NULL: no memory. */
static struct agent_code *remember(const char *name, uint64_t vma, uint64_t key, uint32_t size)
{
	struct agent_code *code = calloc(1, sizeof(*code));

	forget(find_vma(vma));
	forget(find_key(key));
	if (!code)
		return NULL;
	*code = (struct agent_code){ vma, key, size, 0, strdup(name) };
	if (code->name && tsearch(code, &agent.by_vma, compare_vma) &&
	    tsearch(code, &agent.by_key, compare_key))
		return code;
	forget(code);
	errno = ENOMEM;
	return NULL;
}

/* ---- the dump ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Readers take whole records only, so a record that does not fit is cut off again. */
static int append(const struct iovec *parts, int n, size_t size)
{
	ssize_t written = pwritev(agent.fd, parts, n, (off_t)agent.end);
	int e = written < 0 ? errno : ENOSPC;

	if (written == (ssize_t)size) {
		agent.end += size;
		return 0;
	}
	if (ftruncate(agent.fd, (off_t)agent.end) < 0)
		e = errno;
	errno = e;
	return -1;
}

/* Nobody else may have put a file, or a link, there. Our own is of a process before us. */
static int create_dump(const char *dir, char *path, size_t size)
{
	static const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	if (snprintf(path, size, "%s/jit-%d.dump", dir, (int)agent.pid) >= (int)size) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, flags, 0600);
	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0600);
	return fd;
}

/* Readers find the dump by this mapping. It fails where no program may be started from (noexec). */
static bool open_dump_in(const char *dir)
{
	const struct dump_header header = {
		.magic = JITDUMP_MAGIC,
		.version = JITDUMP_VERSION,
		.size = sizeof(header),
		.machine = AGENT_MACHINE,
		.pid = (uint32_t)agent.pid,
		.time_ns = now_ns(),
	};
	const struct iovec part = { (void *)&header, sizeof(header) };
	char path[4096];

	agent.fd = create_dump(dir, path, sizeof(path));
	if (agent.fd < 0)
		return false;
	agent.end = 0;
	agent.page = (size_t)sysconf(_SC_PAGESIZE);
	agent.marker = MAP_FAILED;
	if (append(&part, 1, sizeof(header)) == 0)
		agent.marker =
			mmap(NULL, agent.page, PROT_READ | PROT_EXEC, MAP_PRIVATE, agent.fd, 0);
	if (agent.marker != MAP_FAILED)
		return true;
	unlink(path);
	close(agent.fd);
	agent.fd = -1;
	return false;
}

/* A child's first call: its parent's dump names the code that it has from it. */
static void leave_dump(void)
{
	while (agent.by_vma)
		forget(*(struct agent_code **)agent.by_vma);
	if (agent.fd >= 0)
		close(agent.fd);
	agent.fd = -1;
}

static int open_dump(void)
{
	const char *const dirs[] = { secure_getenv("JITDUMPDIR"), secure_getenv("TMPDIR"), "/tmp",
				     "/var/tmp" };

	if (agent.fd >= 0 && agent.pid == getpid())
		return 0;
	leave_dump();
	agent.pid = getpid();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (dirs[i] && *dirs[i] && open_dump_in(dirs[i]))
			return 0;
	return -1;
}

/* ---- records ---- */

static int write_load(const char *name, uint64_t vma, uint32_t size, const void *bytes)
{
	struct load_body body = {
		(uint32_t)agent.pid, (uint32_t)syscall(SYS_gettid), vma, vma, size, agent.next_index
	};
	struct record_head head = { CODE_LOAD, 0, now_ns() };
	size_t name_size = strlen(name) + 1;
	uint64_t whole = (uint64_t)sizeof(head) + sizeof(body) + name_size + size;
	const struct iovec parts[] = { { &head, sizeof(head) },
				       { &body, sizeof(body) },
				       { (void *)name, name_size },
				       { (void *)bytes, bytes ? size : 0 } };
	uint64_t start = agent.end;

	if (whole > UINT32_MAX) {
		errno = EFBIG;
		return -1;
	}
	head.size = (uint32_t)whole;
	if (append(parts, 4, whole - (bytes ? 0 : size)) < 0)
		return -1;
	/* bytes that are not known are a hole of the file */
	if (!bytes && size && ftruncate(agent.fd, (off_t)(start + whole)) < 0) {
		agent.end = start;
		return -1;
	}
	agent.end = start + whole;
	agent.next_index++;
	return 0;
}

static int write_lines(uint64_t vma, size_t n, const struct debug_line_info *lines)
{
	struct record_head head = { CODE_DEBUG_INFO, 0, now_ns() };
	uint64_t numbers[2] = { vma, n };
	size_t whole = sizeof(head) + sizeof(numbers), used = whole;
	struct iovec part;
	char *record;
	int r;

	for (size_t i = 0; i < n; i++)
		whole += sizeof(struct line_entry) + strlen(lines[i].filename) + 1;
	if (whole > UINT32_MAX) {
		errno = EFBIG;
		return -1;
	}
	record = malloc(whole);
	if (!record)
		return -1;
	head.size = (uint32_t)whole;
	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), numbers, sizeof(numbers));
	for (size_t i = 0; i < n; i++) {
		const struct line_entry e = { lines[i].vma, lines[i].lineno, 0 };
		size_t name = strlen(lines[i].filename) + 1;

		memcpy(record + used, &e, sizeof(e));
		memcpy(record + used + sizeof(e), lines[i].filename, name);
		used += sizeof(e) + name;
	}
	part = (struct iovec){ record, whole };
	r = append(&part, 1, whole);
	free(record);
	return r;
}

/* The bytes are read back from the dump: they may have been freed since. */
static int write_again(const struct agent_code *code)
{
	void *bytes = malloc(code->size ? code->size : 1);
	int r = -1;

	if (bytes && pread(agent.fd, bytes, code->size, (off_t)code->bytes_off) == code->size)
		r = write_load(code->name, code->vma, code->size, bytes);
	free(bytes);
	return r;
}

/* ---- the interface ---- */

static void lock_agent(void)
{
	pthread_mutex_lock(&agent.lock);
}

static void unlock_agent(void)
{
	pthread_mutex_unlock(&agent.lock);
}

/* Locks, if the call is a sound one. 0, or -1 and errno. */
static int agent_begin(op_agent_t handle, bool is_sound)
{
	if (handle != &agent || !is_sound) {
		errno = EINVAL;
		return -1;
	}
	lock_agent();
	if (open_dump() == 0)
		return 0;
	unlock_agent();
	return -1;
}

static int agent_end(int result)
{
	int e = errno;

	unlock_agent();
	errno = e;
	return result;
}

op_agent_t op_open_agent(void)
{
	bool is_open;

	lock_agent();
	if (!agent.has_fork_handlers)
		agent.has_fork_handlers =
			pthread_atfork(lock_agent, unlock_agent, unlock_agent) == 0;
	is_open = open_dump() == 0;
	agent.n_open += is_open;
	agent_end(0);
	return is_open ? &agent : NULL;
}

/* The dump stays open for the next agent of the process, and its marker for profilers. */
int op_close_agent(op_agent_t handle)
{
	if (agent_begin(handle, true) < 0)
		return -1;
	if (!agent.n_open) {
		errno = EINVAL;
		return agent_end(-1);
	}
	agent.n_open--;
	return agent_end(0);
}

int op_write_native_code(op_agent_t handle, const char *name, uint64_t vma, const void *code,
			 unsigned int size)
{
	struct agent_code *known;
	int r;

	if (agent_begin(handle, name != NULL) < 0)
		return -1;
	known = remember(name, vma, code ? (uintptr_t)code : vma, size);
	r = known ? write_load(name, vma, size, code) : -1;
	if (r == 0)
		known->bytes_off = agent.end - size;
	else
		forget(known);
	return agent_end(r);
}

int op_write_debug_line_info(op_agent_t handle, const void *code, size_t n,
			     const struct debug_line_info *lines)
{
	struct agent_code *known;
	bool is_sound = n == 0 || lines;
	int r = -1;

	for (size_t i = 0; is_sound && i < n; i++)
		is_sound = lines[i].filename != NULL;
	if (agent_begin(handle, is_sound) < 0)
		return -1;
	known = find_key((uintptr_t)code);
	if (!known)
		known = find_vma((uintptr_t)code);
	if (!known)
		errno = ENOENT;
	else if (!n)
		r = 0;
	else
		r = write_lines(known->vma, n, lines) < 0 ? -1 : write_again(known);
	if (r == 0 && n)
		known->bytes_off = agent.end - known->size;
	return agent_end(r);
}

int op_unload_native_code(op_agent_t handle, uint64_t vma)
{
	struct agent_code *known;
	int r = -1;

	if (agent_begin(handle, true) < 0)
		return -1;
	known = find_vma(vma);
	if (known)
		r = write_load("[unloaded]", vma, known->size, NULL);
	else
		errno = ENOENT;
	forget(known);
	return agent_end(r);
}

int op_major_version(void)
{
	return 1;
}

int op_minor_version(void)
{
	return 0;
}
