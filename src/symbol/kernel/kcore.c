/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/kcore.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#define MAX_SEGMENTS 4096

static int read_at(int fd, uint64_t off, void *bytes, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = pread(fd, (char *)bytes + got, size - got, (off_t)(off + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return got ? (int)got : -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (int)got;
}

static bool kcore_read_header(int fd, Elf64_Ehdr *h)
{
	return read_at(fd, 0, h, sizeof(*h)) == sizeof(*h) &&
	       !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_phentsize == sizeof(Elf64_Phdr);
}

int kcore_open(const char *path, struct kcore *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;

	if (fd < 0)
		return error_errno(err, -errno, "%s", path);
	if (!kcore_read_header(fd, &header)) {
		close(fd);
		return error_set(err, -EBADMSG, "%s: not a 64-bit ELF core file", path);
	}
	*out = (struct kcore){ .fd = fd, .machine = header.e_machine };
	return 0;
}

void kcore_close(struct kcore *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}

int kcore_read(const struct kcore *k, uint64_t addr, void *bytes, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Phdr p;

	if (!kcore_read_header(k->fd, &header))
		return -EFAULT;
	for (uint32_t i = 0; i < header.e_phnum && i < MAX_SEGMENTS; i++) {
		if (read_at(k->fd, header.e_phoff + i * sizeof(p), &p, sizeof(p)) != sizeof(p))
			return -EFAULT;
		if (p.p_type != PT_LOAD || addr < p.p_vaddr || addr - p.p_vaddr >= p.p_filesz)
			continue;
		size = MIN(size, p.p_filesz - (addr - p.p_vaddr));
		return read_at(k->fd, p.p_offset + (addr - p.p_vaddr), bytes,
			       MIN(size, (size_t)INT32_MAX));
	}
	return -EFAULT;
}
