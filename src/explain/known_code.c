/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/known_code.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

struct known_name {
	const char *name; /* a prefix if it ends in '*' */
	uint8_t meaning;
};

/* glibc, musl, jemalloc, tcmalloc, mimalloc, CPython, GLib, Go, Ruby, V8, and the usual loops. */
static const struct known_name program_code[] = {
	{ "malloc", KNOWN_ALLOCATOR },
	{ "free", KNOWN_ALLOCATOR },
	{ "cfree", KNOWN_ALLOCATOR },
	{ "calloc", KNOWN_ALLOCATOR },
	{ "realloc", KNOWN_ALLOCATOR },
	{ "reallocarray", KNOWN_ALLOCATOR },
	{ "memalign", KNOWN_ALLOCATOR },
	{ "posix_memalign", KNOWN_ALLOCATOR },
	{ "aligned_alloc", KNOWN_ALLOCATOR },
	{ "__libc_malloc*", KNOWN_ALLOCATOR },
	{ "__libc_calloc*", KNOWN_ALLOCATOR },
	{ "__libc_realloc*", KNOWN_ALLOCATOR },
	{ "__libc_free*", KNOWN_ALLOCATOR },
	{ "_int_malloc", KNOWN_ALLOCATOR },
	{ "_int_free*", KNOWN_ALLOCATOR },
	{ "_int_realloc", KNOWN_ALLOCATOR },
	{ "_int_memalign", KNOWN_ALLOCATOR },
	{ "malloc_consolidate", KNOWN_ALLOCATOR },
	{ "unlink_chunk*", KNOWN_ALLOCATOR },
	{ "sysmalloc*", KNOWN_ALLOCATOR },
	{ "systrim*", KNOWN_ALLOCATOR },
	{ "tcache_*", KNOWN_ALLOCATOR },
	{ "operator new*", KNOWN_ALLOCATOR },
	{ "operator delete*", KNOWN_ALLOCATOR },
	{ "je_*", KNOWN_ALLOCATOR },
	{ "tc_malloc*", KNOWN_ALLOCATOR },
	{ "tc_free*", KNOWN_ALLOCATOR },
	{ "tc_new*", KNOWN_ALLOCATOR },
	{ "tc_delete*", KNOWN_ALLOCATOR },
	{ "tcmalloc::*", KNOWN_ALLOCATOR },
	{ "mi_malloc*", KNOWN_ALLOCATOR },
	{ "mi_free*", KNOWN_ALLOCATOR },
	{ "_mi_*", KNOWN_ALLOCATOR },
	{ "_PyObject_Malloc", KNOWN_ALLOCATOR },
	{ "_PyObject_Free", KNOWN_ALLOCATOR },
	{ "PyObject_Malloc", KNOWN_ALLOCATOR },
	{ "PyObject_Free", KNOWN_ALLOCATOR },
	{ "g_malloc*", KNOWN_ALLOCATOR },
	{ "g_free", KNOWN_ALLOCATOR },
	{ "runtime.mallocgc*", KNOWN_ALLOCATOR },
	{ "_emalloc*", KNOWN_ALLOCATOR },
	{ "_efree*", KNOWN_ALLOCATOR },
	{ "runtime.gcBgMarkWorker*", KNOWN_COLLECTOR },
	{ "runtime.gcDrain*", KNOWN_COLLECTOR },
	{ "runtime.gcAssist*", KNOWN_COLLECTOR },
	{ "runtime.bgsweep", KNOWN_COLLECTOR },
	{ "v8::internal::MarkCompact*", KNOWN_COLLECTOR },
	{ "v8::internal::Scavenger*", KNOWN_COLLECTOR },
	{ "v8::internal::Heap::CollectGarbage*", KNOWN_COLLECTOR },
	{ "G1ParScanThreadState::*", KNOWN_COLLECTOR },
	{ "G1ConcurrentMark*", KNOWN_COLLECTOR },
	{ "gc_collect_main*", KNOWN_COLLECTOR },
	{ "gc_sweep*", KNOWN_COLLECTOR },
	{ "gc_marks*", KNOWN_COLLECTOR },
	{ "zend_gc_*", KNOWN_COLLECTOR },
	{ "memcpy*", KNOWN_COPY },
	{ "memmove*", KNOWN_COPY },
	{ "__memcpy*", KNOWN_COPY },
	{ "__memmove*", KNOWN_COPY },
	{ "__mempcpy*", KNOWN_COPY },
	{ "runtime.memmove", KNOWN_COPY },
	{ "memset*", KNOWN_ZERO },
	{ "__memset*", KNOWN_ZERO },
	{ "bzero", KNOWN_ZERO },
	{ "runtime.memclr*", KNOWN_ZERO },
	{ "pthread_mutex_lock*", KNOWN_LOCK },
	{ "___pthread_mutex_lock*", KNOWN_LOCK },
	{ "__pthread_mutex_lock*", KNOWN_LOCK },
	{ "pthread_spin_lock", KNOWN_LOCK },
	{ "__pthread_spin_lock", KNOWN_LOCK },
	{ "pthread_rwlock_*", KNOWN_LOCK },
	{ "__pthread_rwlock_*", KNOWN_LOCK },
	{ "__lll_lock_wait*", KNOWN_LOCK },
	{ "runtime.lock2", KNOWN_LOCK },
	{ "sync.(*Mutex).*", KNOWN_LOCK },
	{ "_PyEval_EvalFrameDefault", KNOWN_INTERPRETER },
	{ "execute_ex", KNOWN_INTERPRETER },
	{ "vm_exec_core", KNOWN_INTERPRETER },
	{ "Perl_runops_*", KNOWN_INTERPRETER },
	{ "luaV_execute", KNOWN_INTERPRETER },
	{ "Interpreter", KNOWN_INTERPRETER },
	{ "_dl_start*", KNOWN_LINKER },
	{ "_dl_relocate_object*", KNOWN_LINKER },
	{ "_dl_map_object*", KNOWN_LINKER },
	{ "_dl_sysdep_start", KNOWN_LINKER },
	{ "dl_main", KNOWN_LINKER },
};

static const struct known_name kernel_code[] = {
	{ "asm_exc_page_fault", KNOWN_FAULT },
	{ "exc_page_fault", KNOWN_FAULT },
	{ "do_user_addr_fault", KNOWN_FAULT },
	{ "do_page_fault", KNOWN_FAULT },
	{ "__do_page_fault", KNOWN_FAULT },
	{ "handle_mm_fault", KNOWN_FAULT },
	{ "do_mem_abort", KNOWN_FAULT },
	{ "copy_user_*", KNOWN_KERNEL_COPY },
	{ "_copy_to_user", KNOWN_KERNEL_COPY },
	{ "_copy_from_user", KNOWN_KERNEL_COPY },
	{ "_copy_to_iter", KNOWN_KERNEL_COPY },
	{ "_copy_from_iter*", KNOWN_KERNEL_COPY },
	{ "copy_page_to_iter*", KNOWN_KERNEL_COPY },
	{ "copy_page_from_iter*", KNOWN_KERNEL_COPY },
	{ "rep_movs_alternative", KNOWN_KERNEL_COPY },
	{ "__arch_copy_to_user", KNOWN_KERNEL_COPY },
	{ "__arch_copy_from_user", KNOWN_KERNEL_COPY },
	{ "clear_page*", KNOWN_CLEAR },
	{ "clear_huge_page*", KNOWN_CLEAR },
	{ "clear_subpage*", KNOWN_CLEAR },
	{ "folio_zero_user*", KNOWN_CLEAR },
	{ "__pi_clear_page*", KNOWN_CLEAR },
	{ "rep_stos_alternative", KNOWN_CLEAR },
	{ "native_queued_spin_lock_slowpath*", KNOWN_SPIN },
	{ "queued_spin_lock_slowpath*", KNOWN_SPIN },
	{ "queued_read_lock_slowpath*", KNOWN_SPIN },
	{ "queued_write_lock_slowpath*", KNOWN_SPIN },
	{ "__pv_queued_spin_lock_slowpath*", KNOWN_SPIN },
	{ "osq_lock*", KNOWN_SPIN },
	{ "rwsem_spin_on_owner*", KNOWN_SPIN },
	{ "mutex_spin_on_owner*", KNOWN_SPIN },
	{ "kernel_clone*", KNOWN_PROCESS },
	{ "_do_fork*", KNOWN_PROCESS },
	{ "do_execve*", KNOWN_PROCESS },
	{ "bprm_execve*", KNOWN_PROCESS },
	{ "load_elf_binary*", KNOWN_PROCESS },
	{ "do_exit*", KNOWN_PROCESS },
	{ "do_group_exit*", KNOWN_PROCESS },
	{ "exit_mmap*", KNOWN_PROCESS },
	{ "schedule_tail*", KNOWN_PROCESS },
	{ "release_task*", KNOWN_PROCESS },
	{ "__x64_sys_*", KNOWN_SYSCALL },
	{ "__ia32_sys_*", KNOWN_SYSCALL },
	{ "__ia32_compat_sys_*", KNOWN_SYSCALL },
	{ "__arm64_sys_*", KNOWN_SYSCALL },
};

/* glibc, CPython, Go, and PostgreSQL, whose locks wait in poll(2). */
static const struct known_waiter {
	const char *name;
	enum known_wait kind;
	const char *words;
} program_waits[] = {
	{ "take_gil", WAIT_LOCK, "the global lock of Python" },
	{ "pthread_mutex_*", WAIT_LOCK, "a mutex" },
	{ "___pthread_mutex_*", WAIT_LOCK, "a mutex" },
	{ "__pthread_mutex_*", WAIT_LOCK, "a mutex" },
	{ "__lll_lock_wait*", WAIT_LOCK, "a mutex" },
	{ "pthread_rwlock_*", WAIT_LOCK, "a read-write lock" },
	{ "__pthread_rwlock_*", WAIT_LOCK, "a read-write lock" },
	{ "___pthread_rwlock_*", WAIT_LOCK, "a read-write lock" },
	{ "sem_wait*", WAIT_LOCK, "a semaphore" },
	{ "__new_sem_wait*", WAIT_LOCK, "a semaphore" },
	{ "pthread_cond_*", WAIT_CONDITION, "a condition" },
	{ "___pthread_cond_*", WAIT_CONDITION, "a condition" },
	{ "__pthread_cond_*", WAIT_CONDITION, "a condition" },
	{ "pthread_barrier_*", WAIT_CONDITION, "a barrier" },
	{ "__pthread_barrier_*", WAIT_CONDITION, "a barrier" },
	{ "pthread_join*", WAIT_CHILD, "the end of a thread" },
	{ "__pthread_clockjoin_ex", WAIT_CHILD, "the end of a thread" },
	{ "___pthread_join*", WAIT_CHILD, "the end of a thread" },
	{ "runtime.notesleep*", WAIT_CONDITION, "a condition" },
	{ "runtime.semasleep*", WAIT_CONDITION, "a condition" },
	{ "XactLockTableWait", WAIT_LOCK, "row locks" },
	{ "LWLockAcquire*", WAIT_LOCK, "a lightweight lock of PostgreSQL" },
	{ "LockRelationOid", WAIT_LOCK, "a lock of a table" },
	{ "LockAcquire*", WAIT_LOCK, "a lock of PostgreSQL" },
};

/* An end of a name: none, a compiler's part (".part.0"), a version ("@@GLIBC_2"), parameters. */
static bool ends_name(char c)
{
	return !c || c == '.' || c == '@' || c == '(';
}

static bool known_matches(const char *pattern, const char *function)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return !strncmp(pattern, function, n - 1);
	return !strncmp(pattern, function, n) && ends_name(function[n]);
}

static uint8_t known_find(const struct known_name *names, size_t n, const char *function)
{
	for (size_t i = 0; i < n; i++)
		if (known_matches(names[i].name, function))
			return names[i].meaning;
	return 0;
}

enum known_code known_code_of(const char *function, bool is_kernel)
{
	return is_kernel ? known_find(kernel_code, ARRAY_SIZE(kernel_code), function)
			 : known_find(program_code, ARRAY_SIZE(program_code), function);
}

enum known_wait known_wait_of(const char *function, const char **words)
{
	for (size_t i = 0; i < ARRAY_SIZE(program_waits); i++)
		if (known_matches(program_waits[i].name, function)) {
			*words = program_waits[i].words;
			return program_waits[i].kind;
		}
	return WAIT_OTHER;
}

const char *known_syscall(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernel_code); i++)
		if (kernel_code[i].meaning == KNOWN_SYSCALL &&
		    known_matches(kernel_code[i].name, function))
			return function + strlen(kernel_code[i].name) - 1;
	return NULL;
}
