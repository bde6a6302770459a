//! The Raspberry Pi's firmware mailbox: /dev/vcio.
//!
//! It uses the property interface, <https://github.com/raspberrypi/firmware/wiki/Mailbox-property-interface>, tag
//! 0x00030006 "Get temperature". Its id 0 is the SoC temperature in m°C. The kernel forwards the buffer to the firmware
//! (drivers/char/broadcom/vcio.c of the Raspberry Pi kernel tree).

use crate::Error;
use std::fs::File;
use std::os::fd::AsRawFd;

const GET_TEMPERATURE: u32 = 0x0003_0006;
const ANSWERED: u32 = 0x8000_0000;

/// Returns the request: size, code, tag, size of the value buffer, value length, id, value, end tag.
pub fn temperature_request() -> [u32; 8] {
    [32, 0, GET_TEMPERATURE, 8, 0, 0, 0, 0]
}

/// Returns the temperature in a response, m°C; `None` if the firmware did not answer this tag.
pub fn parse_temperature(answer: &[u32; 8]) -> Option<i64> {
    let answered = answer[1] == ANSWERED && answer[2] == GET_TEMPERATURE && answer[4] & ANSWERED != 0;
    answered.then(|| i64::from(answer[6]))
}

/// Reads the temperature of the GPU, m°C. `vcio` is the opened /dev/vcio.
///
/// # Errors
/// `ENOTTY`: the file is not the mailbox. `EIO`: the firmware did not answer.
pub fn gpu_temperature(vcio: &File) -> Result<i64, Error> {
    // _IOWR(100, 0, char *): direction 3, the size of a pointer, type 100, number 0.
    let request = (3u64 << 30 | (size_of::<usize>() as u64) << 16 | 100 << 8) as libc::c_ulong;
    let mut message = temperature_request();
    // SAFETY: the driver reads and writes the number of bytes that message[0] states, 32, which is its size.
    let rc = unsafe { libc::ioctl(vcio.as_raw_fd(), request as _, message.as_mut_ptr()) };
    if rc < 0 {
        return Err(Error::last("ioctl", "/dev/vcio"));
    }
    parse_temperature(&message).ok_or_else(|| Error {
        call: "ioctl",
        on: "/dev/vcio".into(),
        source: std::io::Error::from_raw_os_error(libc::EIO),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_firmware_is_read() {
        assert_eq!(parse_temperature(&temperature_request()), None);
        let answer = [32, ANSWERED, GET_TEMPERATURE, 8, ANSWERED | 8, 0, 48_312, 0];
        assert_eq!(parse_temperature(&answer), Some(48_312));
    }

    #[test]
    fn what_is_no_mailbox_is_an_error() {
        assert!(gpu_temperature(&File::open("/dev/null").unwrap()).is_err());
    }
}
