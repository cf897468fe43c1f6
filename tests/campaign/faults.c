// A layer between a program and the C library that makes the n-th call on files below a folder fail, or the last.
//
// FAULT_BELOW  the folder; calls on other files pass.
// FAULT_AT     which call, from 1; 0 for none.
// FAULT_DO     an errno, "short" for half of what was to be read or written, or "kill" for SIGKILL before the call.
// FAULT_STAYS  1: every later call of that kind fails too, as on a disk that is full.
// FAULT_LOG    a file that gets a line for each call: its kind.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static const char *below, *action, *failed_kind;
static long at, calls;
static int stays, log_fd = -1, ready;

static void prepare(void) {
    if (ready) return;
    ready = 1;
    below = getenv("FAULT_BELOW");
    action = getenv("FAULT_DO");
    at = getenv("FAULT_AT") ? atol(getenv("FAULT_AT")) : 0;
    stays = getenv("FAULT_STAYS") != NULL;
    const char *log = getenv("FAULT_LOG");
    if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// Whether a path, or where fd is NULL-terminated nothing, lies below the folder.
static int is_below(int dir, const char *path) {
    char place[PATH_MAX], link[64];
    prepare();
    if (!below) return 0;
    if (path && path[0] == '/') return strncmp(path, below, strlen(below)) == 0;
    if (dir == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, place, sizeof place - 1);
    if (size < 0) return 0;
    place[size] = 0;
    return strncmp(place, below, strlen(below)) == 0;
}

// Count a call; return 0 to let it pass, 1 to shorten it, -1 with errno set to fail it.
static int fault(const char *kind, int dir, const char *path) {
    int before = errno;
    if (!is_below(dir, path)) { errno = before; return 0; }
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (log_fd >= 0) dprintf(log_fd, "%s\n", kind);
    int hit = at && action && (number == at || (stays && number > at && failed_kind && !strcmp(kind, failed_kind)));
    errno = before;
    if (!hit) return 0;
    failed_kind = kind;
    if (!strcmp(action, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(action, "short")) return !strcmp(kind, "read") || !strcmp(kind, "write");
    errno = atoi(action);
    return -1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define WRAP(result, name, params, args, kind, dir, path) \
    result name params { REAL(name); return fault(kind, dir, path) < 0 ? (result)-1 : real args; }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        return fault(flags & O_CREAT ? "create" : "open", AT_FDCWD, path) < 0 ? -1 : real(path, flags, mode); }
#define OPENAT(name) \
    int name(int dir, const char *path, int flags, ...) { \
        REAL(name); va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        return fault(flags & O_CREAT ? "create" : "open", dir, path) < 0 ? -1 : real(dir, path, flags, mode); }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

#define MOVE(name, kind, ...) { \
        REAL(name); int found = fault(kind, fd, NULL); if (found < 0) return -1; \
        if (found > 0 && size > 1) size /= 2; \
        return real(__VA_ARGS__); }
ssize_t read(int fd, void *data, size_t size) MOVE(read, "read", fd, data, size)
ssize_t write(int fd, const void *data, size_t size) MOVE(write, "write", fd, data, size)
ssize_t pread64(int fd, void *data, size_t size, off64_t from) MOVE(pread64, "read", fd, data, size, from)
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t to) MOVE(pwrite64, "write", fd, data, size, to)

WRAP(int, fsync, (int fd), (fd), "fsync", fd, NULL)
WRAP(int, fdatasync, (int fd), (fd), "fsync", fd, NULL)
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size), "truncate", fd, NULL)
WRAP(int, rename, (const char *a, const char *b), (a, b), "rename", AT_FDCWD, b)
WRAP(int, renameat, (int c, const char *a, int d, const char *b), (c, a, d, b), "rename", d, b)
WRAP(int, link, (const char *a, const char *b), (a, b), "link", AT_FDCWD, b)
WRAP(int, linkat, (int c, const char *a, int d, const char *b, int f), (c, a, d, b, f), "link", d, b)
WRAP(int, unlink, (const char *a), (a), "unlink", AT_FDCWD, a)
WRAP(int, unlinkat, (int d, const char *a, int f), (d, a, f), "unlink", d, a)
WRAP(int, mkdir, (const char *a, mode_t m), (a, m), "mkdir", AT_FDCWD, a)
WRAP(int, mkdirat, (int d, const char *a, mode_t m), (d, a, m), "mkdir", d, a)
WRAP(int, chmod, (const char *a, mode_t m), (a, m), "chmod", AT_FDCWD, a)
WRAP(int, fchmod, (int fd, mode_t m), (fd, m), "chmod", fd, NULL)

DIR *opendir(const char *path) { REAL(opendir); return fault("list", AT_FDCWD, path) < 0 ? NULL : real(path); }
DIR *fdopendir(int fd) { REAL(fdopendir); return fault("list", fd, NULL) < 0 ? NULL : real(fd); }
struct dirent64 *readdir64(DIR *dir) {
    REAL(readdir64); return fault("list", dirfd(dir), NULL) < 0 ? NULL : real(dir); }
