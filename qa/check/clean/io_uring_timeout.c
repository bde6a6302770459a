/* The period is an absolute timeout of io_uring. */
#include "../rt.h"
#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/syscall.h>

static unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail;
static struct io_uring_sqe *sqes;
static int ring;

static int set_up(void)
{
	struct io_uring_params params = { 0 };

	ring = syscall(SYS_io_uring_setup, 8, &params);
	if (ring < 0) {
		perror("io_uring_setup");
		return -1;
	}
	size_t sq_size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	size_t cq_size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	size_t size = sq_size > cq_size ? sq_size : cq_size;
	char *rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, params.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		    IORING_OFF_SQES);
	if (rings == MAP_FAILED || sqes == MAP_FAILED)
		return -1;
	sq_tail = (unsigned *)(rings + params.sq_off.tail);
	sq_mask = (unsigned *)(rings + params.sq_off.ring_mask);
	sq_array = (unsigned *)(rings + params.sq_off.array);
	cq_head = (unsigned *)(rings + params.cq_off.head);
	cq_tail = (unsigned *)(rings + params.cq_off.tail);
	return 0;
}

static void wait_until(struct timespec *time)
{
	struct __kernel_timespec until = { time->tv_sec, time->tv_nsec };
	unsigned tail = *sq_tail, index = tail & *sq_mask;

	memset(&sqes[index], 0, sizeof(sqes[index]));
	sqes[index].opcode = IORING_OP_TIMEOUT;
	sqes[index].fd = -1;
	sqes[index].addr = (uintptr_t)&until;
	sqes[index].len = 1;
	sqes[index].timeout_flags = IORING_TIMEOUT_ABS;
	sq_array[index] = index;
	__atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	__atomic_store_n(cq_head, __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static void *control(void *unused)
{
	struct timespec next = now();

	for (int n = 0; n < 600; n++) {
		next.tv_nsec += PERIOD;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		wait_until(&next);
		work();
	}
	return unused;
}

int main(void)
{
	if (set_up())
		return 2;
	lock_memory();
	pthread_join(start("control", 80, control, NULL), NULL);
	return 0;
}
