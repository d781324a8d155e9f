/* The floor: answers every byte with itself, doing nothing else. What a broker's socket work costs at least on this machine.
 *
 *   echo PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static uint8_t buffer[1 << 18];

static void die(const char *what) {
    fprintf(stderr, "echo: %s: %s\n", what, strerror(errno));
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: echo PORT\n");
        return 2;
    }
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, door = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
    if (door < 0 || poll < 0) die("socket");
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(door, (struct sockaddr *)&here, sizeof here) || listen(door, 1024)) die("bind");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = door}, events[256];
    if (epoll_ctl(poll, EPOLL_CTL_ADD, door, &event)) die("epoll_ctl");
    for (;;) {
        int ready = epoll_wait(poll, events, 256, -1);
        if (ready < 0 && errno != EINTR) die("epoll_wait");
        for (int at = 0; at < ready; at++) {
            int fd = events[at].data.fd;
            if (fd == door) {
                int came = accept(door, NULL, NULL);
                if (came < 0) continue;
                setsockopt(came, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                event.events = EPOLLIN;
                event.data.fd = came;
                if (epoll_ctl(poll, EPOLL_CTL_ADD, came, &event)) die("epoll_ctl");
                continue;
            }
            ssize_t size = recv(fd, buffer, sizeof buffer, 0), sent = 0;
            while (sent < size) {
                ssize_t now = send(fd, buffer + sent, (size_t)(size - sent), MSG_NOSIGNAL);
                if (now < 0) break;
                sent += now;
            }
            if (size <= 0 || sent < size) close(fd);
        }
    }
}
