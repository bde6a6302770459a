// expect: waits-for-less-urgent control step
// also: output
#include "../rt.h"

static int ask[2], answer[2];

static void *server(void *unused)
{
	char byte;
	while (read(ask[0], &byte, 1) == 1)
		if (write(answer[1], &byte, 1) != 1)
			break;
	return unused;
}

static void step(int n)
{
	char byte = n;
	if (n % 3)
		return;
	if (write(ask[1], &byte, 1) == 1)
		if (read(answer[0], &byte, 1) != 1) // fault
			return;
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
	if (pipe(ask) || pipe(answer))
		return 1;
	lock_memory();
	start("server", 0, server, NULL);
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
