// expect: no-real-time-thread ordinary_loop *
#include "../rt.h"

int main(void)
{
	lock_memory();
	struct timespec next = now();
	for (int n = 0; n < 300; n++) {
		wait_next(&next, PERIOD);
		work();
	}
	return 0;
}
