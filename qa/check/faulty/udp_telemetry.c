// expect: socket-io control step
#include "../rt.h"
#include <arpa/inet.h>
#include <sys/socket.h>

static int telemetry;
static struct sockaddr_in to;

static void step(int n)
{
	sendto(telemetry, &n, sizeof(n), 0, (struct sockaddr *)&to, sizeof(to)); // fault
}

static void *control(void *unused)
{
	(void)unused;
	struct timespec next = now();
	for (int n = 0; n < 600; n++) {
		wait_next(&next, PERIOD);
		work();
		step(n);
	}
	return NULL;
}

int main(void)
{
	telemetry = socket(AF_INET, SOCK_DGRAM, 0);
	to.sin_family = AF_INET;
	to.sin_port = htons(9);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
