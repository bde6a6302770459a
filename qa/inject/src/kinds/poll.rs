//! Delays caused by an ordinary thread in a long system call: poll(2) with one descriptor listed many thousand times,
//! all of which the kernel checks without a preemption point (fs/select.c, `do_poll`). Kernels with full preemption can
//! preempt the thread in this system call; others cannot.

use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::kernel_threads::is_rt;
use crate::thread::{ORDINARY, become_thread, calibrate, descriptors, now, own_burst, sleep_until};
use crate::truth::Burst;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::fs;

const NAME: &str = "polls";
const FEW: usize = 2_000;
const MAX: usize = 1_000_000;

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    // The active model is in parentheses: `none (voluntary) full lazy`.
    let model = fs::read_to_string("/sys/kernel/debug/sched/preempt").unwrap_or_default();
    if is_rt() || ["(full)", "(lazy)"].iter().any(|m| model.contains(m)) {
        return Err(InjectError::Impossible("this kernel preempts system calls".into()));
    }
    become_thread(NAME, config.cpu, ORDINARY)?;
    let most = descriptors(MAX);
    let fd = eventfd(0, EventfdFlags::empty()).map_err(InjectError::at("make an eventfd"))?;
    let mut fds: Vec<PollFd> = Vec::new();
    let mut once = |count: usize| {
        fds.resize_with(count.max(fds.len()), || PollFd::new(&fd, PollFlags::IN));
        let start = now();
        poll(fds.get_mut(..count).unwrap_or_default(), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
            .map_err(InjectError::at("poll"))?;
        Ok::<_, InjectError>((start, now()))
    };
    let count = calibrate(config.length_ns, FEW, most, &mut once)?;
    let burst = own_burst("preemption_disabled", NAME, ORDINARY, config.cpu);
    let mut bursts = Vec::new();
    for slot in config.slots(begin()) {
        sleep_until(slot.from);
        let (start_ns, end_ns) = once(count)?;
        bursts.push(Burst { start_ns, end_ns, earliest_ns: start_ns, ..burst.clone() });
    }
    Ok(bursts)
}
