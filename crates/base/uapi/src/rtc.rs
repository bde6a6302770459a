//! Interrupts of a real-time clock, /dev/rtcN: rtc(4), include/uapi/linux/rtc.h.

use crate::Error;
use rustix::fd::AsFd;
use rustix::ioctl::{NoArg, Opcode, ioctl, opcode};

/// Request number that enables update interrupts, `_IO('p', 0x03)`.
const RTC_UIE_ON: Opcode = opcode::none(b'p', 3);
/// Request number that disables update interrupts, `_IO('p', 0x04)`.
const RTC_UIE_OFF: Opcode = opcode::none(b'p', 4);

/// Enables or disables the update interrupt, which occurs once per second of the clock. While it is enabled, read(2)
/// blocks until the next interrupt. The kernel disables it when the device is closed.
///
/// # Errors
/// `EINVAL`, `ENOTTY`: the clock has no update interrupt, and the kernel does not emulate it
/// (CONFIG_RTC_INTF_DEV_UIE_EMUL).
pub fn set_update_interrupts(clock: impl AsFd, on: bool) -> Result<(), Error> {
    let done = if on {
        // SAFETY: this request takes no argument and writes no memory of ours.
        unsafe { ioctl(&clock, NoArg::<RTC_UIE_ON>::new()) }
    } else {
        // SAFETY: as above.
        unsafe { ioctl(&clock, NoArg::<RTC_UIE_OFF>::new()) }
    };
    done.map_err(|e| Error::from_errno("ioctl", if on { "RTC_UIE_ON" } else { "RTC_UIE_OFF" }, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_clock_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(set_update_interrupts(&file, true).unwrap_err().errno(), Some(libc::ENOTTY));
    }
}
