/* Preloaded into a process, counts the writes and syncs of files in one folder. It can log them,
   and kill the process before, within or after one of them. See watched_files.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum moment { BEFORE, WITHIN, AFTER };

static char folder[4096];
static int log_file = -1;
static long counted, kill_at = -1;
static enum moment kill_moment;

/* Watch a folder from now on. `log` is a file descriptor, or -1; `at` counts from 1, 0 is never. */
void watch(const char *name, int log, long at, int moment) {
    snprintf(folder, sizeof folder, "%s", name);
    log_file = log;
    counted = 0;
    kill_at = at;
    kill_moment = moment;
}

long count_watched(void) { return counted; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void log_call(char what, const char *name, long long place, size_t size, const void *bytes) {
    if (log_file < 0) return;
    char head[4200];
    int length = snprintf(head, sizeof head, "%c %lld %zu %s\n", what, place, size, name);
    REAL(write)(log_file, head, length);
    if (bytes) REAL(write)(log_file, bytes, size);
}

/* Log that the user was told so many events are recorded. */
void acknowledge(long long events) { log_call('A', ".", events, 0, NULL); }

/* The name of a watched file within its folder, "." for the folder itself; NULL for other files. */
static const char *watched_name(int file, char *path, size_t size) {
    char link[64];
    if (!folder[0]) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    size_t shared = strlen(folder);
    if (strncmp(path, folder, shared)) return NULL;
    if (!path[shared]) return ".";
    return path[shared] == '/' ? path + shared + 1 : NULL;
}

static void kill_if(enum moment moment) {
    if (counted == kill_at && moment == kill_moment) kill(getpid(), SIGKILL);
}

static void begin(char what, const char *name, long long place, size_t size, const void *bytes) {
    counted++;
    kill_if(BEFORE);
    log_call(what, name, place, size, bytes);
}

#define WATCH_WRITE(real_call, half_call, place)                        \
    char path[4096];                                                    \
    const char *name = watched_name(file, path, sizeof path);           \
    if (!name) return real_call;                                        \
    begin('W', name, place, size, bytes);                               \
    if (counted == kill_at && kill_moment == WITHIN) half_call;         \
    kill_if(WITHIN);                                                    \
    ssize_t done = real_call;                                           \
    kill_if(AFTER);                                                     \
    return done;

ssize_t pwrite(int file, const void *bytes, size_t size, off_t place) {
    WATCH_WRITE(REAL(pwrite)(file, bytes, size, place),
                REAL(pwrite)(file, bytes, size / 2, place), place)
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t place) {
    WATCH_WRITE(REAL(pwrite64)(file, bytes, size, place),
                REAL(pwrite64)(file, bytes, size / 2, place), place)
}

ssize_t write(int file, const void *bytes, size_t size) {
    WATCH_WRITE(REAL(write)(file, bytes, size), REAL(write)(file, bytes, size / 2),
                lseek(file, 0, SEEK_CUR))
}

#define WATCH_OTHER(what, place, real_call)                             \
    char path[4096];                                                    \
    const char *name = watched_name(file, path, sizeof path);           \
    if (!name) return real_call;                                        \
    begin(what, name, place, 0, NULL);                                  \
    kill_if(WITHIN);                                                    \
    int done = real_call;                                               \
    kill_if(AFTER);                                                     \
    return done;

int fsync(int file) { WATCH_OTHER('S', 0, REAL(fsync)(file)) }
int fdatasync(int file) { WATCH_OTHER('S', 0, REAL(fdatasync)(file)) }
int ftruncate(int file, off_t size) { WATCH_OTHER('T', size, REAL(ftruncate)(file, size)) }
int ftruncate64(int file, off64_t size) { WATCH_OTHER('T', size, REAL(ftruncate64)(file, size)) }

int unlink(const char *path) {
    size_t shared = strlen(folder);
    if (!shared || strncmp(path, folder, shared) || path[shared] != '/') return REAL(unlink)(path);
    begin('U', path + shared + 1, 0, 0, NULL);
    kill_if(WITHIN);
    int done = REAL(unlink)(path);
    kill_if(AFTER);
    return done;
}
