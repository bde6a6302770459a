// expect: relative-sleep control control
#include "../rt.h"
#include <sys/select.h>

static void *control(void *unused)
{
	for (int n = 0; n < 500; n++) {
		struct timeval period = { 0, 2000 };

		select(0, NULL, NULL, NULL, &period); // fault
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
