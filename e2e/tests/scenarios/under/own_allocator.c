/* A program with an allocator of its own, which draws random bytes when it is first used, behind a
 * lock that must not be taken twice. It then draws in a forked process and in its own. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LIBRARY

#include <stdlib.h>

/* Allocates before the program and what is preloaded are initialized. */
__attribute__((constructor)) static void allocate_early(void) { free(malloc(1)); }
void in_library(void) {}

#else

void in_library(void);
static char memory[64 << 20];
static atomic_size_t used;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static atomic_int is_ready;

void *malloc(size_t size) {
    if (!is_ready) {
        unsigned cookie;
        while (atomic_flag_test_and_set(&lock)) {
        }
        if (!is_ready) {
            (void)!getrandom(&cookie, sizeof cookie, 0);
            is_ready = 1;
        }
        atomic_flag_clear(&lock);
    }
    return memory + atomic_fetch_add(&used, (size + 31) / 16 * 16);
}

void *calloc(size_t count, size_t size) { return malloc(count * size); }
void free(void *pointer) { (void)pointer; }
void *realloc(void *pointer, size_t size) {
    void *more = malloc(size);
    return pointer ? memmove(more, pointer, size) : more;
}

static unsigned draw(void) {
    unsigned drawn = 0;
    (void)!getrandom(&drawn, sizeof drawn, 0);
    return drawn;
}

int main(void) {
    in_library();
    fflush(stdout);
    if (fork() == 0) {
        printf("%u ", draw());
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    printf("%u\n", draw());
    return 0;
}
#endif
