/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/vdso32.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/elf_file.h"

#define VDSO_BYTES_MAX (256u << 10)

static struct {
	pthread_once_t once;
	uint8_t *bytes; /* NULL: there is none */
	size_t size;
	struct build_id build_id;
} vdso = { .once = PTHREAD_ONCE_INIT };

#ifdef __x86_64__

#ifndef ARCH_MAP_VDSO_32
#define ARCH_MAP_VDSO_32 0x2002
#endif
#define PLACE     0x10000000ul /* of the new mappings */
#define DATA_MAX  64           /* pages of data below a vdso */
#define PAGE_SIZE 4096ul

/*
 * In the new process, which makes system calls alone. A process has at most one vdso, and its data
 * (vvar) counts. The data is right below the code, and both kinds have the same. Its mappings can't
 * be cut: such calls fail.
 */
static void map_and_write(uintptr_t own, size_t own_size, int fd)
{
	uintptr_t n_data = 0;
	long size;

	syscall(SYS_munmap, own, own_size);
	while ((size = syscall(SYS_arch_prctl, ARCH_MAP_VDSO_32, PLACE)) < 0 && errno == EEXIST &&
	       n_data++ < DATA_MAX)
		syscall(SYS_munmap, own - n_data * PAGE_SIZE, n_data * PAGE_SIZE);
	/* Unlike a read, a system call survives a wrong address. */
	if (size > 0 && size <= (long)VDSO_BYTES_MAX)
		syscall(SYS_write, fd, PLACE + n_data * PAGE_SIZE, size);
	_exit(0);
}

/* Signals of assay's processes are not for the new one. Nor does its end send one. */
static void write_in_new_process(uintptr_t own, size_t own_size, int fd)
{
	sigset_t all, before;
	long pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone, 0ul, 0ul, NULL, NULL, 0ul);
	if (pid == 0)
		map_and_write(own, own_size, fd);
	while (pid > 0 && waitpid((pid_t)pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static size_t own_vdso_size(uintptr_t own)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)own; /* NOLINT: an address */
	size_t end = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	return (end + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE; /* section headers are its end */
}

static void read_bytes(int fd)
{
	uintptr_t own = getauxval(AT_SYSINFO_EHDR);
	uint8_t *bytes = xcalloc(1, VDSO_BYTES_MAX);
	struct elf_file elf;
	ssize_t n;

	if (own)
		write_in_new_process(own, own_vdso_size(own), fd);
	n = pread(fd, bytes, VDSO_BYTES_MAX, 0);
	if (n <= 0 || elf_file_open(&elf, bytes, (size_t)n, NULL) < 0 || elf.machine != EM_386) {
		free(bytes);
		return;
	}
	vdso.bytes = bytes;
	vdso.size = (size_t)n;
	elf_build_id(&elf, &vdso.build_id);
}

static void read_once(void)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return;
	read_bytes(fd);
	close(fd);
}

#else

static void read_once(void)
{
}

#endif

bool vdso32_bytes(const uint8_t **bytes, size_t *size)
{
	pthread_once(&vdso.once, read_once);
	*bytes = vdso.bytes;
	*size = vdso.size;
	return vdso.bytes;
}

struct build_id vdso32_build_id(void)
{
	pthread_once(&vdso.once, read_once);
	return vdso.build_id;
}
