// expect: memory-map control step
#include "../rt.h"

static char *page;

static void step(int n)
{
	mprotect(page, 4096, n % 2 ? PROT_READ : PROT_READ | PROT_WRITE); // fault
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
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	
	return 0;
}
