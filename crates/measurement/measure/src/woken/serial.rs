//! Wakeups by a UART in loopback mode: each byte causes a receive interrupt.

use super::links::Link;
use super::mail::{Arrival, Mailbox};
use punctual_uapi::{Guard, Port};
use punctual_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::io::{Errno, read, write};
use rustix::termios::{ControlModes, OptionalActions, QueueSelector, SpecialCodeIndex};
use rustix::termios::{ioctl_tiocexcl, tcflush, tcgetattr, tcsetattr};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Why a port cannot be used. The port was not changed, or its settings were restored.
#[derive(Debug, thiserror::Error)]
pub enum SerialError {
    #[error(
        "{0} is a console of the kernel (/proc/consoles): choose another port (grep -v 'uart:unknown' /proc/tty/driver/serial), \
         or boot without its console= parameter"
    )]
    Console(String),
    #[error(
        "{port} is open in process {pid} ({name}): stop it (systemctl stop serial-getty@{short}), or choose another port"
    )]
    InUse {
        port: String,
        /// File name of the device without directory.
        short: String,
        pid: i32,
        name: String,
    },
    #[error("cannot open {port}: {source}; list the available ones: ls -l /dev/ttyS* /dev/ttyAMA*")]
    Open { port: String, source: std::io::Error },
    /// The port has no UART, or its UART has no loopback mode.
    #[error("{port}: {why}; list the available ones: cat /proc/tty/driver/serial")]
    NoHardware { port: String, why: String },
    #[error("a byte takes {byte} at {rate} bit/s on {port}: choose a period of at least twice that with --period")]
    TooShort {
        port: String,
        rate: u32,
        /// Transmission time of a byte.
        byte: Nanos,
    },
}

/// Baud rates to try, fastest first.
const RATES: [u32; 8] = [4_000_000, 3_000_000, 2_000_000, 1_000_000, 921_600, 460_800, 230_400, 115_200];

/// A port in loopback mode. Its settings are restored on drop, and also if this process is killed.
pub struct Serial {
    port: Port,
    _guard: Guard,
    /// Notes for the report: baud rate, and time per byte.
    pub notes: Vec<String>,
}

/// Returns the descriptor for reading; a read blocks until a byte arrives.
impl AsFd for Serial {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.port.as_fd()
    }
}

impl Serial {
    /// Opens an unused port, and tests it with one byte.
    ///
    /// # Errors
    /// The port is in use, has no loopback, or is too slow for the period.
    pub fn open(path: &str, period: Nanos) -> Result<Serial, SerialError> {
        let device = device(path)?;
        if is_console(&fs::read_to_string("/proc/consoles").unwrap_or_default(), device) {
            return Err(SerialError::Console(path.into()));
        }
        if let Some((pid, name)) = user(device) {
            let short = path.rsplit('/').next().unwrap_or(path).into();
            return Err(SerialError::InUse { port: path.into(), short, pid, name });
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd =
            open(path, flags, Mode::empty()).map_err(|e| SerialError::Open { port: path.into(), source: e.into() })?;
        let port = Port::new(fd);
        let (rate, guard) = set_up(&port).map_err(|why| SerialError::NoHardware { port: path.into(), why })?;
        let byte = Nanos(10_000_000_000 / u64::from(rate));
        if period.0 < 2 * byte.0 {
            return Err(SerialError::TooShort { port: path.into(), rate, byte });
        }
        let serial = Serial { port, _guard: guard, notes: notes(path, rate, byte) };
        serial.try_byte().map_err(|why| SerialError::NoHardware { port: path.into(), why })?;
        Ok(serial)
    }

    /// Sends one byte and checks that it comes back in time.
    fn try_byte(&self) -> Result<(), String> {
        let fail = |e: Errno| e.to_string();
        write(&self.port, &[0x55]).map_err(fail)?;
        let wait = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };
        poll(&mut [PollFd::new(&self.port, PollFlags::IN)], Some(&wait)).map_err(fail)?;
        let mut byte = [0u8; 1];
        if read(&self.port, &mut byte) != Ok(1) || byte != [0x55] {
            return Err("a byte sent in loopback mode did not return".into());
        }
        // From here on, reads block.
        fcntl_setfl(self.port.as_fd(), OFlags::RDWR).map_err(fail)
    }
}

impl Link for Serial {
    #[inline(always)]
    fn send(&self, _: &Mailbox, sequence: u64) -> bool {
        write(&self.port, &[sequence as u8]).is_ok()
    }

    #[inline(always)]
    fn receive(&self, _: &Mailbox, _: u64) -> Option<Arrival> {
        let mut bytes = [0u8; 64];
        let n = read(&self.port, &mut bytes).ok()?;
        let last = bytes.get(n.checked_sub(1)?)?;
        Some(Arrival::Queue { messages: n as u64, last: (*last).into(), bits: 8 })
    }
}

fn device(path: &str) -> Result<u64, SerialError> {
    let file = fs::metadata(path).map_err(|source| SerialError::Open { port: path.into(), source })?;
    // Half of all processes have devices with major number 1 open, for example /dev/null.
    match file.file_type().is_char_device() && rustix::fs::major(file.rdev()) != 1 {
        true => Ok(file.rdev()),
        false => Err(SerialError::NoHardware { port: path.into(), why: "it is not a serial port".into() }),
    }
}

/// Returns true if the device is a console. A line of /proc/consoles ends with the device: `ttyS0 -W- (EC p a) 4:64`.
fn is_console(consoles: &str, device: u64) -> bool {
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    consoles.lines().any(|line| line.split_whitespace().next_back() == Some(&number))
}

/// Returns ID and name of a process that has the device open, as far as permissions on /proc show it.
fn user(device: u64) -> Option<(i32, String)> {
    let numbered = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(numbered);
    let has = |pid: &i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        // Only devices are examined, because stat(2) of a file on an unreachable server would block.
        let devices = open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with("/dev/")));
        devices.into_iter().any(|fd| fs::metadata(fd.path()).is_ok_and(|file| file.rdev() == device))
    };
    let pid = pids.into_iter().find(has)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, name.trim().to_owned()))
}

/// Checks the hardware, then sets raw mode, the fastest baud rate and loopback. Returns the rate, and a guard that
/// restores the port.
fn set_up(port: &Port) -> Result<(u32, Guard), String> {
    let hardware = port.hardware().map_err(|e| format!("it is not a serial port with modem lines ({e})"))?;
    if hardware.kind == 0 {
        return Err("the driver found no UART there (type unknown)".into());
    }
    if hardware.irq == 0 {
        return Err("it has no interrupt: the driver polls it with a timer".into());
    }
    ioctl_tiocexcl(port).map_err(|e| format!("exclusive access is not possible: {e}"))?;
    let looped = port.is_looped().map_err(|e| e.to_string())?;
    if looped {
        return Err("it is already in loopback mode: another program is using it, or was killed while using it".into());
    }
    let guard = port.guard().map_err(|e| e.to_string())?;
    let rate = make_raw(port, u32::try_from(hardware.fastest).unwrap_or(0)).map_err(|e| e.to_string())?;
    port.set_loop(true).map_err(|e| e.to_string())?;
    match port.is_looped() {
        Ok(true) => Ok((rate, guard)),
        _ => Err("its driver does not support loopback (TIOCM_LOOP)".into()),
    }
}

fn make_raw(port: &Port, fastest: u32) -> Result<u32, Errno> {
    let mut settings = tcgetattr(port)?;
    settings.make_raw();
    settings.control_modes.remove(ControlModes::CRTSCTS | ControlModes::HUPCL);
    settings.control_modes.insert(ControlModes::CLOCAL | ControlModes::CREAD);
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    let rate = RATES.into_iter().find(|rate| *rate <= fastest).unwrap_or(115_200);
    settings.set_speed(rate)?;
    tcsetattr(port, OptionalActions::Now, &settings)?;
    tcflush(port, QueueSelector::IOFlush)?;
    Ok(tcgetattr(port)?.output_speed().max(1))
}

/// Returns notes on the part of the latencies that the kernel does not cause.
fn notes(path: &str, rate: u32, byte: Nanos) -> Vec<String> {
    let mut notes = vec![format!(
        "each latency includes the transmission time of a byte on {path}: {byte} at {rate} bit/s, 10 bits"
    )];
    let short = path.rsplit('/').next().unwrap_or(path);
    let file = Path::new("/sys/class/tty").join(short).join("rx_trig_bytes");
    let trigger = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u32>().ok());
    if let Some(trigger) = trigger.filter(|bytes| *bytes > 1) {
        notes.push(format!(
            "the receive FIFO of {path} raises an interrupt at {trigger} bytes; for a single byte it waits for another four byte times ({}); to avoid this: echo 1 > {}",
            Nanos(4 * byte.0),
            file.display()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLES: &str = "tty0                 -WU (EC  p  )    4:1\nttyS0                -W- (EC  p a)    4:64\n";

    #[test]
    fn a_console_is_known_by_its_number() {
        let device = |major, minor| rustix::fs::makedev(major, minor);
        assert!(is_console(CONSOLES, device(4, 64)) && is_console(CONSOLES, device(4, 1)));
        assert!(!is_console(CONSOLES, device(4, 65)) && !is_console(CONSOLES, device(64, 4)) && !is_console("", 0));
    }

    #[test]
    fn what_is_no_port_is_refused_with_what_to_type() {
        let open = |path: &str| Serial::open(path, Nanos::from_millis(1)).err().unwrap().to_string();
        assert!(open("/dev/ttyS-none").contains("ls -l /dev/ttyS*"));
        assert!(open("/").contains("not a serial port"));
        assert!(
            open("/dev/zero").contains("not a serial port")
                && open("/dev/zero").contains("cat /proc/tty/driver/serial")
        );
    }

    #[test]
    fn who_has_a_device_open_is_found() {
        let held = fs::File::open("/dev/full").unwrap();
        let (pid, name) = user(held.metadata().unwrap().rdev()).unwrap();
        assert!(pid > 0 && !name.is_empty());
    }
}
