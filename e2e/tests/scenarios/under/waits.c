/* Waits with every function that can wait, and exits with the number of waits that were too short by its own
   clock. A wait by the real clock takes longer than the hang guard of the tests. Cancelled threads are cleaned up. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Seconds of each wait. */
#define LENGTH 650

static int wrong;
static struct timespec began[2];

static double since(int clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec - began[clock].tv_sec + (now.tv_nsec - began[clock].tv_nsec) / 1e9;
}

static void begin(void) {
    clock_gettime(CLOCK_REALTIME, &began[CLOCK_REALTIME]);
    clock_gettime(CLOCK_MONOTONIC, &began[CLOCK_MONOTONIC]);
}

static void end(const char *what) {
    for (int clock = 0; clock < 2; clock++) {
        double took = since(clock);
        if (took < 0.95 * LENGTH) {
            printf("%s took %.2f s\n", what, took);
            wrong++;
        }
    }
}

static struct timespec in_a_while(int clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += LENGTH;
    return time;
}

static int cleaned;
static volatile int waiting;
static void clean(void *nothing) { (void)nothing; cleaned++; }

static void *wait_for_ever(void *how) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec far = in_a_while(CLOCK_REALTIME), length = {100000, 0};
    int ends[2];
    char byte;
    far.tv_sec += 100000;
    pthread_cleanup_push(clean, NULL);
    waiting = 1;
    switch ((long)how) {
    case 0: sleep(100000); break;
    case 1: poll(NULL, 0, 100000000); break;
    case 2: nanosleep(&length, NULL); break;
    case 3: if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0) break; break;
    case 4: pthread_mutex_lock(&lock); pthread_cond_timedwait(&condition, &lock, &far); break;
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void nothing(int signal) { (void)signal; }

int main(void) {
    for (long how = 0; how < 5; how++) {
        pthread_t thread;
        waiting = 0;
        pthread_create(&thread, NULL, wait_for_ever, (void *)how);
        while (!waiting) sched_yield();
        usleep(500000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    if (cleaned != 5) {
        printf("%d of 5 cancelled threads were cleaned up\n", cleaned);
        wrong++;
    }

    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (int clock = 0; clock < 2; clock++) {
        pthread_condattr_t attribute;
        pthread_cond_t condition;
        pthread_condattr_init(&attribute);
        pthread_condattr_setclock(&attribute, clock);
        pthread_cond_init(&condition, &attribute);
        begin();
        struct timespec until = in_a_while(clock);
        pthread_cond_timedwait(&condition, &lock, &until);
        end(clock ? "a condition by the monotonic clock" : "a condition by the time of day");
        for (int absolute = 0; absolute < 2; absolute++) {
            int file = timerfd_create(clock, 0);
            struct itimerspec times = {{0, 0}, {LENGTH, 0}};
            unsigned long rings;
            begin();
            if (absolute) times.it_value = in_a_while(clock);
            timerfd_settime(file, absolute ? TFD_TIMER_ABSTIME : 0, &times, NULL);
            if (read(file, &rings, sizeof rings) != sizeof rings) wrong++;
            end("a timer that is read");
            close(file);

            struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
            timer_t timer;
            signal(SIGALRM, nothing);
            timer_create(clock, &event, &timer);
            times = (struct itimerspec){{0, 0}, {LENGTH, 0}};
            begin();
            if (absolute) times.it_value = in_a_while(clock);
            timer_settime(timer, absolute ? TIMER_ABSTIME : 0, &times, NULL);
            pause();
            end("a timer that signals");
            timer_delete(timer);

            begin();
            until = absolute ? in_a_while(clock) : (struct timespec){LENGTH, 0};
            while (clock_nanosleep(clock, absolute ? TIMER_ABSTIME : 0, &until, absolute ? NULL : &until) == EINTR);
            end("clock_nanosleep");
        }
    }
    begin();
    struct timespec until = in_a_while(CLOCK_REALTIME);
    pthread_mutex_timedlock(&lock, &until);
    end("a lock");
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    begin();
    until = in_a_while(CLOCK_REALTIME);
    sem_timedwait(&semaphore, &until);
    end("a semaphore");
    begin(); sleep(LENGTH); end("sleep");
    begin(); usleep(LENGTH * 1000000u); end("usleep");
    begin(); poll(NULL, 0, LENGTH * 1000); end("poll");
    begin(); select(0, NULL, NULL, NULL, &(struct timeval){LENGTH, 0}); end("select");
    begin(); pselect(0, NULL, NULL, NULL, &(struct timespec){LENGTH, 0}, NULL); end("pselect");
    begin(); ppoll(NULL, 0, &(struct timespec){LENGTH, 0}, NULL); end("ppoll");
    struct epoll_event event;
    begin(); epoll_wait(epoll_create1(0), &event, 1, LENGTH * 1000); end("epoll_wait");
    begin(); alarm(LENGTH); pause(); end("alarm");
    sigset_t set;
    sigemptyset(&set);
    begin(); sigtimedwait(&set, NULL, &(struct timespec){LENGTH, 0}); end("sigtimedwait");
    return wrong;
}
