/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile tenant: attacks a profiler that watches the machine, until it is killed.
 *
 * 	attack KIND FOLDER
 *
 * It prints "ready" when its files are written or its first threads run. Then it goes on, busy. A
 * table at the end has the kinds. FOLDER is a folder where it may write.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_MOVES    20000
#define MOVED_SIZE (48ull << 20)
#define MAP_MB     100
#define N_MAPPINGS 10000
#define N_THREADS  5000
#define N_FILES    2000
#define CROWD_NS   10000000ull

/* count down from the first argument, return */
#if defined(__x86_64__)
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char loop[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				      0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#endif

static const char *folder;
static char own_path[4096];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void burn(unsigned long n)
{
	for (volatile unsigned long i = 0; i < n; i++)
		;
}

/* ---- files of a JIT ---- */

typedef void count_down(unsigned long n);

static count_down *make_code(void)
{
	void *code = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	count_down *function;

	if (code == MAP_FAILED)
		die("mmap");
	memcpy(code, loop, sizeof(loop));
	__builtin___clear_cache(code, (char *)code + sizeof(loop));
	memcpy(&function, &code, sizeof(function));
	return function;
}

static void run_code(count_down *code)
{
	for (;;)
		code(10000000);
}

/* Moves of a function whose size would fill the memory, if each page of it had an entry. */
static void attack_jitdump(void)
{
	struct {
		uint32_t magic, version, size, machine, padding, pid;
		uint64_t time_ns, flags;
	} header = { 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 1, 0 };
	struct {
		uint32_t id, size;
		uint64_t time_ns;
		uint32_t pid, tid;
		uint64_t vma, from, to, length, index;
	} move = { 1, sizeof(move), 1, header.pid, header.pid, 0, 0, 0, MOVED_SIZE, 1 };
	count_down *code = make_code();
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	f = fopen(path, "w+e");
	if (!f)
		die(path);
	fwrite(&header, sizeof(header), 1, f);
	for (int i = 0; i < N_MOVES; i++) {
		move.to = (uint64_t)(uintptr_t)code + (uint64_t)i;
		fwrite(&move, sizeof(move), 1, f);
	}
	fflush(f);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		die("mmap");
	ready();
	run_code(code);
}

static char perf_map[64];

static void attack_perf_map(void)
{
	count_down *code = make_code();
	FILE *f;

	snprintf(perf_map, sizeof(perf_map), "/tmp/perf-%d.map", getpid());
	f = fopen(perf_map, "we");
	if (!f)
		die(perf_map);
	for (unsigned long i = 0; ftell(f) < (long)MAP_MB << 20; i++)
		fprintf(f, "%lx 10 function_with_a_long_name_%lu\n",
			(unsigned long)(uintptr_t)code + i * 16, i);
	fclose(f);
	ready();
	run_code(code);
}

/* ---- floods ---- */

/* Mappings of one file, apart from each other, that come and go. */
static void attack_maps(void)
{
	int fd = open(own_path, O_RDONLY | O_CLOEXEC);
	char **at = calloc(N_MAPPINGS, sizeof(*at));

	for (unsigned long i = 0;; i++) {
		unsigned long n = i % N_MAPPINGS;

		if (at[n])
			munmap(at[n], 4096);
		/* Neighbours of different offsets stay apart. */
		at[n] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, i % 2 * 4096);
		if (at[n] == MAP_FAILED)
			die("mmap");
		if (i == N_MAPPINGS)
			ready();
		burn(1000);
	}
}

static void attack_comms(void)
{
	char name[16];

	for (unsigned long i = 0;; i++) {
		snprintf(name, sizeof(name), "n%lu", i);
		prctl(PR_SET_NAME, name);
		if (i == 1000)
			ready();
		burn(10000);
	}
}

static void *be_thread(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "t%lu", (unsigned long)(uintptr_t)number);
	prctl(PR_SET_NAME, name);
	burn(10000000);
	return NULL;
}

static void attack_threads(void)
{
	pthread_t *threads = calloc(N_THREADS, sizeof(*threads));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (unsigned long i = 0;; i++) {
		pthread_t *t = &threads[i % N_THREADS];

		if (*t)
			pthread_join(*t, NULL);
		if (pthread_create(t, &small, be_thread, (void *)(uintptr_t)i) != 0)
			die("pthread_create");
		if (i == 100)
			ready();
	}
}

/*
 * Threads that live and run at the same time, each with a name and with two mappings of its own. It
 * runs in each for a while.
 */
static char crowd_path[4200];
static count_down *mapped[2 * N_THREADS];
static pthread_barrier_t crowd_is_there;

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *be_one_of_crowd(void *number)
{
	unsigned long n = (unsigned long)(uintptr_t)number;
	char name[16];

	snprintf(name, sizeof(name), "crowd%lu", n);
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&crowd_is_there);
	for (unsigned long i = 2 * n; i < 2 * n + 2; i++)
		for (uint64_t end = thread_cpu_ns() + CROWD_NS; thread_cpu_ns() < end;)
			mapped[i](100000);
	return NULL;
}

/* The offset grows while the address falls, so the kernel joins no two of them. */
static void map_crowd(void)
{
	static char page[4096];
	int fd;

	snprintf(crowd_path, sizeof(crowd_path), "%s/crowd", folder);
	fd = open(crowd_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		die(crowd_path);
	memcpy(page, loop, sizeof(loop));
	for (off_t i = 0; i < 2 * N_THREADS; i++) {
		void *at;

		if (write(fd, page, sizeof(page)) != sizeof(page))
			die(crowd_path);
		at = mmap(NULL, sizeof(page), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			  i * (off_t)sizeof(page));
		if (at == MAP_FAILED)
			die("mmap");
		memcpy(&mapped[i], &at, sizeof(at));
	}
}

static void attack_crowd(void)
{
	pthread_t *threads = calloc(N_THREADS, sizeof(*threads));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&crowd_is_there, NULL, N_THREADS + 1);
	map_crowd();
	for (unsigned long i = 0; i < N_THREADS; i++)
		if (pthread_create(&threads[i], &small, be_one_of_crowd, (void *)(uintptr_t)i) != 0)
			die("pthread_create");
	ready();
	pthread_barrier_wait(&crowd_is_there);
	for (unsigned long i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}

static void run_child(void (*child)(void))
{
	pid_t pid = fork();

	if (!pid) {
		child();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
}

static void short_work(void)
{
	burn(20000);
}

static void attack_forks(void)
{
	for (int i = 0;; i++) {
		run_child(short_work);
		if (i == 100)
			ready();
	}
}

/* Each process executes this program again. */
static void exec_again(void)
{
	execl(own_path, own_path, "work", folder, (char *)NULL);
}

static void attack_execs(void)
{
	for (int i = 0;; i++) {
		run_child(exec_again);
		if (i == 100)
			ready();
	}
}

/* A copy of this program, with other bytes at its end. */
static void copy_program(const char *path, int number)
{
	static char *bytes;
	static size_t size;
	struct stat st;
	int fd = open(own_path, O_RDONLY | O_CLOEXEC);

	if (!bytes && fstat(fd, &st) == 0) {
		size = (size_t)st.st_size;
		bytes = malloc(size);
		if (read(fd, bytes, size) != (ssize_t)size)
			die(own_path);
	}
	close(fd);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, bytes, size) < 0 || write(fd, &number, sizeof(number)) < 0)
		die(path);
	close(fd);
}

static char copy_path[4200];

static void exec_copy(void)
{
	execl(copy_path, copy_path, "work", folder, (char *)NULL);
}

/* A program of its own for each process: images, and files that are gone. */
static void attack_files(void)
{
	for (int i = 0;; i++) {
		snprintf(copy_path, sizeof(copy_path), "%s/f%d", folder, i % N_FILES);
		copy_program(copy_path, i);
		run_child(exec_copy);
		unlink(copy_path);
		if (i == 20)
			ready();
	}
}

/* A program that runs, with a link to a device in its place. */
static void attack_swap(void)
{
	pid_t pid;

	snprintf(copy_path, sizeof(copy_path), "%s/swapped", folder);
	copy_program(copy_path, 0);
	pid = fork();
	if (!pid) {
		execl(copy_path, copy_path, "busy", folder, (char *)NULL);
		_exit(1);
	}
	prctl(PR_SET_NAME, "swapper");
	usleep(100000);
	unlink(copy_path);
	if (symlink("/dev/zero", copy_path) < 0)
		die(copy_path);
	ready();
	waitpid(pid, NULL, 0);
}

static void attack_work(void)
{
	burn(1000000);
	exit(0);
}

static void attack_busy(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		burn(1000000);
}

static const struct kind {
	const char *name;
	void (*attack)(void);
} kinds[] = {
	{ "jitdump", attack_jitdump }, { "perf-map", attack_perf_map }, { "maps", attack_maps },
	{ "comms", attack_comms },     { "threads", attack_threads },   { "forks", attack_forks },
	{ "execs", attack_execs },     { "files", attack_files },       { "swap", attack_swap },
	{ "crowd", attack_crowd },     { "work", attack_work },         { "busy", attack_busy },
};

static void on_term(int number)
{
	(void)number;
	if (*perf_map)
		unlink(perf_map);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 3 || readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) < 0) {
		fprintf(stderr, "Usage: attack KIND FOLDER\n");
		return 2;
	}
	folder = argv[2];
	signal(SIGTERM, on_term);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			kinds[i].attack();
	return 1;
}
