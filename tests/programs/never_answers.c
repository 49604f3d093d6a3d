// SPDX-License-Identifier: GPL-2.0-or-later
// A program whose memory can't be read to an end: never_answers LIBJVM FOLDER SECONDS. It has
// HotSpot's library. In place of the page with the address of HotSpot's tables, it maps a file of a
// file system that never answers reads. Then it runs code that it made itself, where a profiler
// looks for Java. It mounts the file system itself, on FOLDER, as root, and prints the number of
// the process that serves it.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_NODE 2
#define FILE_SIZE 65536
#define PAGE      4096

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == FILE_NODE ? FILE_SIZE : 0,
				   .mode = node == FILE_NODE ? S_IFREG | 0644 : S_IFDIR | 0755,
				   .nlink = 1,
				   .blksize = PAGE };
}

static void answer(int fd, const struct fuse_in_header *in, int error, const void *data,
		   size_t size)
{
	char bytes[512];
	struct fuse_out_header out = { (uint32_t)(sizeof(out) + size), error, in->unique };

	memcpy(bytes, &out, sizeof(out));
	memcpy(bytes + sizeof(out), data, size);
	if (write(fd, bytes, sizeof(out) + size) < 0 && errno != ENOENT)
		exit(0); // it is no longer mounted
}

static void serve(int fd)
{
	static char bytes[1 << 17];
	const struct fuse_in_header *in = (const void *)bytes;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_write = PAGE };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.attr_valid = 1000,
					.entry_valid = 1000,
					.attr = attr_of(FILE_NODE) };
	struct fuse_open_out opened = { .fh = 1 };

	while (read(fd, bytes, sizeof(bytes)) > 0) {
		struct fuse_attr_out attr = { .attr_valid = 1000, .attr = attr_of(in->nodeid) };

		switch (in->opcode) {
		case FUSE_INIT:
			answer(fd, in, 0, &init, sizeof(init));
			break;
		case FUSE_GETATTR:
			answer(fd, in, 0, &attr, sizeof(attr));
			break;
		case FUSE_LOOKUP:
			answer(fd, in, 0, &entry, sizeof(entry));
			break;
		case FUSE_OPEN:
			answer(fd, in, 0, &opened, sizeof(opened));
			break;
		case FUSE_READ: // never
		case FUSE_FORGET:
			break;
		case FUSE_FLUSH:
		case FUSE_RELEASE:
			answer(fd, in, 0, NULL, 0);
			break;
		default:
			answer(fd, in, -ENOSYS, NULL, 0);
		}
	}
	exit(0);
}

static int open_file(const char *folder)
{
	int fd = open("/dev/fuse", O_RDWR);
	char text[4096];

	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || mount("never", folder, "fuse", MS_NOSUID | MS_NODEV, text)) {
		perror("fuse");
		exit(1);
	}
	pid_t server = fork();
	if (!server) {
		alarm(120);
		for (int i = 0; i < fd; i++) // nobody waits for it
			close(i);
		serve(fd);
	}
	close(fd);
	printf("%d\n", server);
	fflush(stdout);
	snprintf(text, sizeof(text), "%s/file", folder);
	return open(text, O_RDONLY);
}

int main(int argc, char **argv)
{
	static const uint8_t loop[] = {
		0xb8, 0x40, 0x42, 0x0f, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0xc3
	}; // 1,000,000 times
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char *table = library ? dlsym(library, "gHotSpotVMStructs") : NULL;
	int fd = table ? open_file(argv[2]) : -1;
	time_t end = time(NULL) + (argc == 4 ? atoi(argv[3]) : 0);

	if (fd < 0 || code == MAP_FAILED) {
		fprintf(stderr, "never_answers: %s\n", library ? "no file" : dlerror());
		return 1;
	}
	if (mmap(table - ((uintptr_t)table & (PAGE - 1)), PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
		 fd, 0) == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	while (time(NULL) < end)
		((void (*)(void))code)();
	_exit(0);
}
