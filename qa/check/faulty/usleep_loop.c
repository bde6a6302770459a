// expect: relative-sleep control control
#include "../rt.h"

static void *control(void *unused)
{
	for (int n = 0; n < 500; n++) {
		usleep(2000); // fault
		work();
	}
	return unused;
}

int main(void)
{
	lock_memory();
	pthread_t thread = start("control", 92, control, NULL);
	pthread_join(thread, NULL);
	return 0;
}
