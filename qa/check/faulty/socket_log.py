# expect: socket-io python3 *
# also: *
import os, socket, time

def step(out, n):
    out.sendto(str(n).encode(), ("127.0.0.1", 9))  # fault

def main():
    os.sched_setaffinity(0, {0})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(92))
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    due = time.monotonic()
    for n in range(400):
        due += 0.002
        time.sleep(max(0, due - time.monotonic()))
        step(out, n)

main()
