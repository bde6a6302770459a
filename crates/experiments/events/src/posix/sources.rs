//! Tests the event sources of the Linux kernel, and the channels of punctual-rt.

use super::Posix;
use super::deliver::{Came, Receiver, Sent, Taker, Times};
use super::takers::{Counted, Numbers, Queued, Signals};
use crate::backend::{Answer, NotRun, Observed, Plan};
use punctual_directory::{Scratch, Whose};
use punctual_rt::{At, Eventfd, Frame, Overflow, Parsed, Scheduling, Semaphore, monotonic, pipe_out, queue};
use punctual_uapi::{Sig, SignalSet};
use punctual_units::Nanos;
use rustix::fd::AsFd;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, read, write};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

const ROOM: usize = 256;

fn failed<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> NotRun {
    move |e| NotRun::Failed(format!("{what}: {e}"))
}

/// Writes a number. Returns false if the source is full.
fn put(fd: impl AsFd, number: u64) -> Result<bool, Errno> {
    match write(fd, &number.to_le_bytes()) {
        Ok(8) => Ok(true),
        Ok(_) => Err(Errno::IO),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

impl Posix {
    /// Uses a timerfd that expires at the plan's interval. No thread sends these events, so all must have arrived when
    /// the last one is due.
    pub(super) fn timer(&self, plan: &Plan<'_>) -> Answer {
        let timer = Arc::new(
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).map_err(failed("timerfd_create"))?,
        );
        let first = monotonic() + Nanos::from_millis(50);
        let times = Times::Due { first, interval: plan.interval };
        let receiver = self.receive(
            plan,
            self.scheduling(plan, 0),
            &times,
            Expirations { timer: timer.clone(), left: plan.events },
        )?;
        let times = Itimerspec { it_interval: timespec(plan.interval), it_value: timespec(first) };
        timerfd_settime(&*timer, TimerfdTimerFlags::ABSTIME, &times).map_err(failed("timerfd_settime"))?;
        self.until_due(plan, receiver, first)
    }

    /// Waits until all events are due, for a source without a sender.
    pub(super) fn until_due(&self, plan: &Plan<'_>, receiver: Receiver, first: Nanos) -> Answer {
        let last = first + Nanos(plan.interval.0 * plan.events.saturating_sub(1));
        while monotonic() < last && !plan.stop.load(Relaxed) {
            std::thread::sleep(last.saturating_sub(monotonic()).min(Nanos::from_millis(10)).into());
        }
        // The source continues, so a late event would arrive together with the next one.
        let now = monotonic();
        let due = if now < first { 0 } else { (now - first).0 / plan.interval.0 + 1 };
        let observed = receiver.finish(plan, Sent { sent: due.min(plan.events), refused: 0 })?;
        Ok(Observed { notes: self.narrowed(), ..observed })
    }

    pub(super) fn eventfd(&self, plan: &Plan<'_>) -> Answer {
        let source = Eventfd::new().map_err(failed("eventfd"))?;
        let theirs = source.clone();
        self.deliver(plan, Counted(source), move |_| theirs.raise(1).map(|()| true))
    }

    pub(super) fn pipe(&self, plan: &Plan<'_>) -> Answer {
        let (reader, writer) = rustix::pipe::pipe().map_err(failed("pipe"))?;
        fcntl_setfl(&writer, OFlags::NONBLOCK).map_err(failed("fcntl(F_SETFL)"))?;
        // Kept open until everything is received, because a pipe without a writer is at end of file.
        let _kept = writer.try_clone().map_err(failed("dup"))?;
        self.deliver(plan, Numbers::new(reader), move |number| put(&writer, number))
    }

    /// Uses a pseudo-terminal: data written to the master arrives at the slave as if typed.
    pub(super) fn pty(&self, plan: &Plan<'_>) -> Answer {
        let (master, slave) = raw_pty()?;
        // Kept open until everything is received, because a terminal without a master is hung up.
        let _kept = master.try_clone().map_err(failed("dup"))?;
        self.deliver(plan, Numbers::new(slave), move |number| put(&master, number))
    }

    /// Sends signals to the receiver's thread. While a standard signal is pending, the kernel drops further instances
    /// of it without reporting this to the sender.
    pub(super) fn signals(&self, plan: &Plan<'_>, signal: Sig) -> Answer {
        let thread = Arc::new(AtomicI32::new(0));
        let taker = Signals { set: SignalSet::new(&[signal]), thread: thread.clone() };
        let times = Times::new();
        let receiver = self.receive(plan, self.scheduling(plan, 0), &times, taker)?;
        let give_up = monotonic() + Nanos::from_secs(5);
        while thread.load(Acquire) == 0 && monotonic() < give_up {
            std::thread::sleep(Nanos::from_millis(1).into());
        }
        let sent = self.send(plan, &times, move |number| {
            match punctual_uapi::queue(thread.load(Acquire), signal, number as u32) {
                Ok(()) => Ok(true),
                Err(Errno::AGAIN) => Ok(false),
                Err(errno) => Err(errno),
            }
        });
        let observed = receiver.finish(plan, sent?)?;
        Ok(Observed { notes: self.narrowed(), ..observed })
    }

    /// Sends datagrams to a local socket. /proc/net/udp counts the datagrams dropped because the receive buffer was
    /// full.
    pub(super) fn udp(&self, plan: &Plan<'_>) -> Answer {
        let receiver = UdpSocket::bind("127.0.0.1:0").map_err(failed("bind(127.0.0.1)"))?;
        let sender = UdpSocket::bind("127.0.0.1:0").map_err(failed("bind(127.0.0.1)"))?;
        let address = receiver.local_addr().map_err(failed("getsockname"))?;
        sender.connect(address).and_then(|()| sender.set_nonblocking(true)).map_err(failed("connect(127.0.0.1)"))?;
        // Kept open until the number of drops is read.
        let kept = receiver.try_clone().map_err(failed("dup"))?;
        let mut observed = self.deliver(plan, Numbers::new(receiver), move |number| put(&sender, number))?;
        let table = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
        match drops(&table, address.port()) {
            Some(drops) => observed.ledger.overflowed(drops),
            None => observed
                .notes
                .push("/proc/net/udp does not show the drops of the socket, so dropped events count as lost".into()),
        }
        drop(kept);
        Ok(observed)
    }

    /// Uses a queue between two real-time tasks. A semaphore wakes the reader.
    pub(super) fn queue(&self, plan: &Plan<'_>) -> Answer {
        let (mut sender, receiver) = queue::<u64>(ROOM, Overflow::Refuse).map_err(failed("queue"))?;
        let filled = Arc::new(Semaphore::new(0));
        let taker = Queued { receiver, filled: filled.clone() };
        self.deliver(plan, taker, move |number| {
            let taken = sender.send(number).is_ok();
            filled.post().map_err(|_| Errno::OVERFLOW)?;
            Ok(taken)
        })
    }

    /// Uses a pipe of punctual-rt. An ordinary thread reads its FIFO at the other end.
    pub(super) fn pipe_out(&self, plan: &Plan<'_>) -> Answer {
        let folder = Scratch::create("pipe", Whose::System).map_err(failed("a directory for the pipe"))?;
        let path = folder.path().join("pipe");
        let (mut sender, bridge) =
            pipe_out::<Number, ROOM>(At::Path(path), Overflow::Refuse).map_err(failed("pipe"))?;
        let fifo = File::open(bridge.path()).map_err(failed("the pipe's FIFO"))?;
        let times = Times::new();
        let ordinary = punctual_rt::granted_nice(Scheduling::Other { nice: 0 });
        let receiver = self.receive(plan, ordinary, &times, Numbers::new(fifo))?;
        let sent = self.send(plan, &times, move |number| Ok(sender.send(Number(number)).is_ok()));
        let observed = receiver.finish(plan, sent?)?;
        drop(bridge);
        Ok(Observed { notes: self.narrowed(), page_faults: None, ..observed })
    }
}

/// Expirations of a timer that continues after the last event of the test.
struct Expirations {
    timer: Arc<OwnedFd>,
    left: u64,
}

fn timespec(time: Nanos) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    Timespec { tv_sec: (time.0 / SECOND) as i64, tv_nsec: (time.0 % SECOND) as _ }
}

impl Taker for Expirations {
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno> {
        let mut expired = [0; 8];
        if read(&*self.timer, &mut expired)? != expired.len() {
            return Err(Errno::IO);
        }
        let count = u64::from_ne_bytes(expired).min(self.left);
        self.left -= count;
        if count > 0 {
            came(Came::counted(count));
        }
        Ok(())
    }
}

/// A number as 8 bytes, for sending through a pipe.
struct Number(u64);

impl Frame for Number {
    fn parse(input: &[u8]) -> Parsed<Number> {
        match input.first_chunk::<8>() {
            Some(bytes) => Parsed::Frame(Number(u64::from_le_bytes(*bytes)), 8),
            None => Parsed::More,
        }
    }

    fn write(&self, output: &mut Vec<u8>) {
        output.extend(self.0.to_le_bytes());
    }
}

/// Creates a pseudo-terminal without line editing. Its master does not block; its slave does.
fn raw_pty() -> Result<(OwnedFd, File), NotRun> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).map_err(failed("openpt"))?;
    grantpt(&master).and_then(|()| unlockpt(&master)).map_err(failed("unlockpt"))?;
    let name = ptsname(&master, Vec::new()).map_err(failed("ptsname"))?;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    // Without O_NOCTTY this terminal would become the controlling terminal of a session leader that has none, and
    // closing it would raise SIGHUP (open(2)).
    let mut options = File::options();
    options.read(true).write(true).custom_flags(OFlags::NOCTTY.bits() as i32);
    let slave = options.open(path).map_err(failed("the slave of a pty"))?;
    let mut settings = tcgetattr(&slave).map_err(failed("tcgetattr"))?;
    settings.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &settings).map_err(failed("tcsetattr"))?;
    fcntl_setfl(&master, OFlags::NONBLOCK).map_err(failed("fcntl(F_SETFL)"))?;
    Ok((master, slave))
}

/// Returns the last column of the socket's line (proc_net(5), udp4_format_sock() in net/ipv4/udp.c); `None` if there is
/// no such line.
fn drops(table: &str, port: u16) -> Option<u64> {
    let local = format!(":{port:04X}");
    let line = table.lines().find(|line| line.split_whitespace().nth(1).is_some_and(|a| a.ends_with(&local)))?;
    line.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sockets_drops_are_found() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n \
                     1021: 0100007F:D431 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 5 2 0000000000000000 17\n";
        assert_eq!(drops(table, 0xd431), Some(17));
        assert_eq!(drops(table, 0x1234), None);
    }
}
