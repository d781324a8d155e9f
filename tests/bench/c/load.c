/* Load at little cost: prepared frames, a fixed number in flight on each connection, answers only counted.
 *
 *   load PORT CONNECTIONS DEPTH WARM_SECONDS SECONDS ERROR_AT FILE
 *
 * FILE holds one or more frames, each with its length; a connection sends them in turn, the n-th connection beginning with the n-th.
 * ERROR_AT is where the error code of an answer stands, counted behind its length; -1: answers are not looked at.
 * Prints "begin" when the load is warm and, SECONDS later, one line: requests seconds bytes errors, then microseconds of waiting:
 * p50 p90 p99 p99.9 longest.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 512, MAX_DEPTH = 64, STEPS = 32, BUCKETS = 64 * STEPS };

struct connection {
    int fd;
    size_t next;                  /* frame to send */
    size_t unsent;                /* of the frames owed, bytes of the first that are left */
    int owed;                     /* frames to send */
    int stuck;                    /* the socket takes no more for now */
    uint8_t head[HEAD];           /* what has come of the answer, as far as it is looked at */
    size_t have;                  /* bytes of the answer that have come, its length included */
    uint64_t sent_ns[MAX_DEPTH];  /* of those in flight, oldest at `oldest` */
    unsigned oldest, newest;
};

static uint8_t *frames;
static size_t *starts, *lengths, count;
static long error_at;
static uint64_t requests, bytes, errors, longest, waits[BUCKETS];
static uint8_t buffer[1 << 18];

static void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t be32(const uint8_t *at) { return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]; }

/* Waits are counted in buckets that are a thirty-second of their size wide. */
static unsigned bucket(uint64_t us) {
    if (us < STEPS) return (unsigned)us;
    unsigned high = 63 - (unsigned)__builtin_clzll(us); /* 5 or more */
    return (high - 4) * STEPS + (unsigned)(us >> (high - 5) & (STEPS - 1));
}

static uint64_t of_bucket(unsigned at) {
    return at < STEPS ? at : (uint64_t)(STEPS + at % STEPS) << (at / STEPS - 1);
}

static uint64_t percentile(double share) {
    uint64_t total = 0, seen = 0;
    for (unsigned at = 0; at < BUCKETS; at++) total += waits[at];
    uint64_t wanted = (uint64_t)(share * (double)total);
    for (unsigned at = 0; at < BUCKETS; at++)
        if ((seen += waits[at]) > wanted) return of_bucket(at);
    return longest;
}

static void read_frames(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    frames = malloc(size);
    if (!frames || fread(frames, 1, size, file) != size) die("read");
    fclose(file);
    for (size_t at = 0; at + 4 <= size; at += lengths[count++]) {
        starts = realloc(starts, (count + 1) * sizeof *starts);
        lengths = realloc(lengths, (count + 1) * sizeof *lengths);
        if (!starts || !lengths) die("realloc");
        starts[count] = at;
        lengths[count] = 4 + be32(frames + at);
        if (at + lengths[count] > size) {
            fprintf(stderr, "load: %s ends within a frame\n", path);
            exit(1);
        }
    }
    if (!count) {
        fprintf(stderr, "load: no frame in %s\n", path);
        exit(1);
    }
}

static void send_owed(int poll, struct connection *c) {
    while (c->owed) {
        size_t length = lengths[c->next];
        ssize_t sent = send(c->fd, frames + starts[c->next] + length - c->unsent, c->unsent, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) die("send");
        if (sent > 0) c->unsent -= (size_t)sent;
        if (c->unsent) break;
        c->sent_ns[c->newest++ % MAX_DEPTH] = now_ns();
        c->next = (c->next + 1) % count;
        c->unsent = lengths[c->next];
        c->owed--;
    }
    if (c->stuck == (c->owed > 0)) return;
    c->stuck = !c->stuck;
    struct epoll_event event = {.events = c->stuck ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poll, EPOLL_CTL_MOD, c->fd, &event)) die("epoll_ctl");
}

static void answered(struct connection *c, uint64_t now) {
    uint64_t us = (now - c->sent_ns[c->oldest++ % MAX_DEPTH]) / 1000;
    requests++;
    waits[bucket(us)]++;
    if (us > longest) longest = us;
    if (error_at >= 0 && ((size_t)error_at + 6 > c->have || c->head[4 + error_at] || c->head[5 + error_at])) errors++;
    c->have = 0;
    c->owed++;
}

static void received(struct connection *c, const uint8_t *data, size_t size) {
    uint64_t now = now_ns();
    bytes += size;
    while (size) {
        size_t take = size;
        if (c->have >= 4) {
            size_t left = 4 + (size_t)be32(c->head) - c->have;
            if (take > left) take = left;
        } else if (take > 4 - c->have) {
            take = 4 - c->have;
        }
        if (c->have < HEAD) memcpy(c->head + c->have, data, take < HEAD - c->have ? take : HEAD - c->have);
        c->have += take;
        data += take;
        size -= take;
        if (c->have >= 4 && c->have == 4 + (size_t)be32(c->head)) answered(c, now);
    }
}

static void run_until(int poll, uint64_t end) {
    struct epoll_event events[256];
    uint64_t now;
    while ((now = now_ns()) < end) {
        int ready = epoll_wait(poll, events, 256, (int)((end - now) / 1000000 + 1));
        if (ready < 0 && errno != EINTR) die("epoll_wait");
        for (int at = 0; at < ready; at++) {
            struct connection *c = events[at].data.ptr;
            int owed = c->owed;
            if (events[at].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
                ssize_t size = recv(c->fd, buffer, sizeof buffer, 0);
                if (size == 0) {
                    fprintf(stderr, "load: a connection was closed\n");
                    exit(1);
                }
                if (size < 0 && errno != EAGAIN) die("recv");
                if (size > 0) received(c, buffer, (size_t)size);
            }
            if (c->owed && (c->owed > owed || events[at].events & EPOLLOUT)) send_owed(poll, c);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "usage: load PORT CONNECTIONS DEPTH WARM_SECONDS SECONDS ERROR_AT FILE\n");
        return 2;
    }
    int connections = atoi(argv[2]), depth = atoi(argv[3]), poll = epoll_create1(0);
    error_at = atol(argv[6]);
    if (depth < 1 || depth > MAX_DEPTH || error_at > HEAD - 6 || poll < 0) {
        fprintf(stderr, "load: depth is 1 to %d, ERROR_AT at most %d\n", MAX_DEPTH, HEAD - 6);
        return 2;
    }
    read_frames(argv[7]);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct connection *all = calloc((size_t)connections, sizeof *all);
    if (!all) die("calloc");
    for (int at = 0; at < connections; at++) {
        struct connection *c = all + at;
        int one = 1;
        if ((c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0) die("socket");
        if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) die("connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (fcntl(c->fd, F_SETFL, O_NONBLOCK)) die("fcntl");
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
    }
    for (int at = 0; at < connections; at++) { /* only now, so that all begin together */
        struct connection *c = all + at;
        c->next = (size_t)at % count;
        c->unsent = lengths[c->next];
        c->owed = depth;
        send_owed(poll, c);
    }
    uint64_t warm = now_ns() + (uint64_t)(atof(argv[4]) * 1e9);
    run_until(poll, warm);
    requests = bytes = longest = 0; /* errors of the beginning stay */
    memset(waits, 0, sizeof waits);
    puts("begin");
    fflush(stdout);
    uint64_t begin = now_ns();
    run_until(poll, begin + (uint64_t)(atof(argv[5]) * 1e9));
    double seconds = (double)(now_ns() - begin) / 1e9;
    printf("%llu %.6f %llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)requests, seconds, (unsigned long long)bytes,
           (unsigned long long)errors, (unsigned long long)percentile(0.5), (unsigned long long)percentile(0.9),
           (unsigned long long)percentile(0.99), (unsigned long long)percentile(0.999), (unsigned long long)longest);
    return 0;
}
