// expect: page-fault control descend
// also: memory-not-locked
#include "../rt.h"

static volatile int depth_of;

static __attribute__((noinline)) int descend(int depth)
{ // fault
	char frame[4096];
	memset(frame, depth, sizeof(frame)); // fault
	depth_of = frame[17];
	return depth > 0 ? descend(depth - 1) + frame[0] : 0;
}

static void step(int n)
{
	if (n % 20 == 0)
		descend(n / 20);
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
	
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
