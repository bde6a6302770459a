# expect: file-io python3 *
# also: *
import os, tempfile, time

def step(log, n):
    if n % 10 == 0:
        log.write(f"cycle {n}\n")
        log.flush()  # fault

def main():
    os.sched_setaffinity(0, {0})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(92))
    with tempfile.TemporaryFile("w", dir="/var/tmp") as log:
        due = time.monotonic()
        for n in range(400):
            due += 0.002
            time.sleep(max(0, due - time.monotonic()))
            step(log, n)

main()
