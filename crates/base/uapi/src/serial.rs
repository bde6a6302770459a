//! A serial port in loopback mode: tty_ioctl(4), TIOCM_LOOP, TIOCGSERIAL.

use crate::Error;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::io;

/// Hardware of a serial port, as reported by TIOCGSERIAL (include/uapi/linux/serial.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Type of the port, one of the constants PORT_…; 0 (PORT_UNKNOWN) if no hardware was found.
    pub kind: i32,
    /// Interrupt number; 0 if the driver polls.
    pub irq: i32,
    /// Highest rate, bit/s; 0 if the driver does not report it.
    pub fastest: i32,
}

#[repr(C)]
struct SerialStruct {
    kind: libc::c_int,
    line: libc::c_int,
    port: libc::c_uint,
    irq: libc::c_int,
    flags: libc::c_int,
    xmit_fifo_size: libc::c_int,
    custom_divisor: libc::c_int,
    baud_base: libc::c_int,
    close_delay: libc::c_ushort,
    io_type: libc::c_char,
    reserved_char: libc::c_char,
    hub6: libc::c_int,
    closing_wait: libc::c_ushort,
    closing_wait2: libc::c_ushort,
    iomem_base: *mut libc::c_void,
    iomem_reg_shift: libc::c_ushort,
    port_high: libc::c_uint,
    iomap_base: libc::c_ulong,
}

/// TIOCM_LOOP (include/uapi/asm-generic/termios.h). The value is the same on every architecture.
static LOOP: libc::c_int = 0x8000;

#[derive(Debug)]
pub struct Port(OwnedFd);

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Port {
    /// Wraps a descriptor without checking that it is a serial port. If it is not, the other methods fail.
    pub fn new(fd: OwnedFd) -> Port {
        Port(fd)
    }

    /// Reads the hardware information.
    ///
    /// # Errors
    /// `ENOTTY`, `EINVAL`: the descriptor is not a serial port.
    pub fn hardware(&self) -> Result<Hardware, Error> {
        // SAFETY: all zeroes are a valid serial_struct.
        let mut info: SerialStruct = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one serial_struct into a live one.
        let rc = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TIOCGSERIAL, &raw mut info) };
        if rc != 0 {
            return Err(Error::last("ioctl", "TIOCGSERIAL"));
        }
        Ok(Hardware { kind: info.kind, irq: info.irq, fastest: info.baud_base })
    }

    /// Returns true if loopback is enabled.
    ///
    /// # Errors
    /// `ENOTTY`: the port has no modem lines.
    pub fn is_looped(&self) -> Result<bool, Error> {
        let mut lines: libc::c_int = 0;
        // SAFETY: the kernel writes one int into a live one.
        let rc = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TIOCMGET, &raw mut lines) };
        if rc == 0 { Ok(lines & LOOP != 0) } else { Err(Error::last("ioctl", "TIOCMGET")) }
    }

    /// Turns loopback on or off (UART_MCR_LOOP of a 16550).
    ///
    /// # Errors
    /// `ENOTTY`: the port has no modem lines. `EIO`: the terminal was hung up.
    pub fn set_loop(&self, on: bool) -> Result<(), Error> {
        let request = if on { libc::TIOCMBIS } else { libc::TIOCMBIC };
        // SAFETY: the kernel reads one int from a live one.
        let rc = unsafe { libc::ioctl(self.0.as_raw_fd(), request, &raw const LOOP) };
        if rc == 0 { Ok(()) } else { Err(Error::last("ioctl", if on { "TIOCMBIS" } else { "TIOCMBIC" })) }
    }

    /// Starts a process that waits until this process ends for any reason, and then restores the port: it turns
    /// loopback off and restores the current settings (termios(3)). Call it before changing anything. Dropping the
    /// returned guard restores the port and ends the process.
    ///
    /// # Errors
    /// `EAGAIN`, `ENOMEM`: the process cannot be created. `ENOTTY`: the port is not a terminal.
    pub fn guard(&self) -> Result<Guard, Error> {
        let fd = self.0.as_raw_fd();
        // SAFETY: all zeroes are a valid termios; the kernel fills it.
        let mut before: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: a live termios.
        if unsafe { libc::tcgetattr(fd, &raw mut before) } != 0 {
            return Err(Error::last("tcgetattr", "serial port"));
        }
        let (theirs, ours) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| Error {
            call: "pipe2",
            on: "guard".into(),
            source: io::Error::from(e),
        })?;
        let end = theirs.as_raw_fd();
        // SAFETY: the child only makes async-signal-safe system calls (fork(2)), on descriptors and a termios in its
        // own copy of the memory.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above; `guard_until` never returns.
            unsafe { guard_until(end, fd, &before) }
        }
        if child < 0 {
            return Err(Error::last("fork", "guard of the serial port"));
        }
        Ok(Guard { child, pipe: Some(ours) })
    }
}

/// Runs in the child process. Waits until the parent, which is the only writer of the pipe, closes it or ends; then
/// restores the port.
///
/// # Safety
/// Call it only in the child after fork(2).
unsafe fn guard_until(end: libc::c_int, port: libc::c_int, before: &libc::termios) -> ! {
    // SAFETY: plain descriptors and a live termios; all calls are async-signal-safe except ioctl, which on Linux is a
    // plain system call too.
    unsafe {
        // Inherited descriptors that stay open would block readers that wait for end of file.
        let (end, port) = (libc::fcntl(end, libc::F_DUPFD, 16), libc::fcntl(port, libc::F_DUPFD, 16));
        libc::dup2(end, 0);
        libc::dup2(port, 1);
        if libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0) != 0 {
            for fd in 2..1024 {
                libc::close(fd);
            }
        }
        let (end, port) = (0, 1);
        // Signals to the process group are for the parent; only its end matters here.
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut byte = 0u8;
        loop {
            let n = libc::read(end, (&raw mut byte).cast(), 1);
            if n == 0 || n < 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                break;
            }
        }
        libc::ioctl(port, libc::TIOCMBIC, &raw const LOOP);
        libc::tcflush(port, libc::TCIOFLUSH);
        libc::tcsetattr(port, libc::TCSANOW, before);
        libc::ioctl(port, libc::TIOCNXCL);
        libc::_exit(0);
    }
}

/// The process that restores a port. Dropping this value restores the port and waits until that is done.
#[derive(Debug)]
pub struct Guard {
    child: libc::pid_t,
    pipe: Option<OwnedFd>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        loop {
            // SAFETY: it is our child, and no status is requested.
            let ended = unsafe { libc::waitpid(self.child, std::ptr::null_mut(), 0) };
            let interrupted = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
            if ended == self.child || !interrupted {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_a_serial_port_is_an_error() {
        let port = Port::new(std::fs::File::open("/dev/null").unwrap().into());
        assert_eq!(port.hardware().unwrap_err().errno(), Some(libc::ENOTTY));
        assert_eq!(port.set_loop(true).unwrap_err().errno(), Some(libc::ENOTTY));
        assert!(port.is_looped().is_err() && port.guard().is_err());
    }

    #[test]
    #[ignore = "live: devpts"]
    fn a_guard_puts_a_terminal_back() {
        use rustix::pty::{OpenptFlags, grantpt, ptsname, unlockpt};
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let port = Port::new(std::fs::File::options().read(true).write(true).open(name).unwrap().into());
        let guard = port.guard().unwrap();
        let before = tcgetattr(&port).unwrap();
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&port, OptionalActions::Now, &raw).unwrap();
        assert!(!tcgetattr(&port).unwrap().local_modes.contains(LocalModes::ICANON));
        drop(guard);
        assert!(tcgetattr(&port).unwrap().local_modes.contains(LocalModes::ICANON));
    }
}
