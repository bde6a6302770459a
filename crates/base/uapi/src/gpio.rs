//! The GPIO character device, uAPI v2 (include/uapi/linux/gpio.h, Linux 5.10 and later). Each request covers one line.

use crate::Error;
use rustix::fd::{AsFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};
use std::ffi::c_char;

/// The line is in use (GPIO_V2_LINE_FLAG_USED).
pub const USED: u64 = 1 << 0;
/// Logical values are inverted (GPIO_V2_LINE_FLAG_ACTIVE_LOW).
pub const ACTIVE_LOW: u64 = 1 << 1;
pub const INPUT: u64 = 1 << 2;
pub const OUTPUT: u64 = 1 << 3;
/// Rising edges generate events (GPIO_V2_LINE_FLAG_EDGE_RISING).
pub const EDGE_RISING: u64 = 1 << 4;
/// Falling edges generate events (GPIO_V2_LINE_FLAG_EDGE_FALLING).
pub const EDGE_FALLING: u64 = 1 << 5;
/// Enables the pull-up resistor (GPIO_V2_LINE_FLAG_BIAS_PULL_UP).
pub const BIAS_PULL_UP: u64 = 1 << 8;
/// Enables the pull-down resistor (GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN).
pub const BIAS_PULL_DOWN: u64 = 1 << 9;
/// Disables the bias resistors (GPIO_V2_LINE_FLAG_BIAS_DISABLED).
pub const BIAS_DISABLED: u64 = 1 << 10;
/// Time stamps of events are CLOCK_REALTIME instead of CLOCK_MONOTONIC (GPIO_V2_LINE_FLAG_EVENT_CLOCK_REALTIME, Linux
/// 5.11).
pub const EVENT_CLOCK_REALTIME: u64 = 1 << 11;

/// Size of struct gpio_v2_line_event, as returned by read(2).
pub const EVENT_BYTES: usize = 48;

/// Size of a name field in bytes (GPIO_MAX_NAME_SIZE).
const NAME_BYTES: usize = 32;
/// Maximum number of lines per request (GPIO_V2_LINES_MAX).
const LINES: usize = 64;
/// Maximum number of attributes per request (GPIO_V2_LINE_NUM_ATTRS_MAX).
const ATTRIBUTES: usize = 10;
/// ID of the attribute that sets output values (GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES).
const OUTPUT_VALUES: u32 = 2;

/// Information on a chip (struct gpiochip_info).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipInfo {
    /// Name in the kernel, for example `gpiochip0`.
    pub name: String,
    /// Name given to the chip by its driver.
    pub label: String,
    pub lines: u32,
}

/// Information on a line (struct gpio_v2_line_info).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Offset of the line on its chip.
    pub offset: u32,
    /// Name of the line from the device tree or ACPI; empty if it has none.
    pub name: String,
    /// Name of the consumer that holds the line; empty if the line is free or the consumer gave no name.
    pub consumer: String,
    /// Flags of the line: a combination of [`USED`], [`INPUT`], …
    pub flags: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRequest<'a> {
    /// Offset of the line on its chip.
    pub offset: u32,
    /// Name that other programs see as the consumer of the line; truncated to 31 bytes.
    pub consumer: &'a str,
    /// Requested flags: a combination of [`INPUT`], [`EDGE_RISING`], …
    pub flags: u64,
    /// Number of events that the kernel buffers; 0 means 16. The kernel rounds this number up to a power of two
    /// (kfifo_alloc) and limits it to 1024.
    pub event_buffer_size: u32,
    pub value: bool,
}

#[repr(C)]
struct RawChip {
    name: [c_char; NAME_BYTES],
    label: [c_char; NAME_BYTES],
    lines: u32,
}

/// struct gpio_v2_line_attribute. `value` stands for the union, whose largest member is a u64.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
struct RawAttribute {
    id: u32,
    padding: u32,
    value: u64,
}

#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
struct RawConfigAttribute {
    attribute: RawAttribute,
    mask: u64,
}

#[repr(C, align(8))]
struct RawConfig {
    flags: u64,
    attribute_count: u32,
    padding: [u32; 5],
    attributes: [RawConfigAttribute; ATTRIBUTES],
}

#[repr(C, align(8))]
struct RawRequest {
    offsets: [u32; LINES],
    consumer: [c_char; NAME_BYTES],
    config: RawConfig,
    line_count: u32,
    event_buffer_size: u32,
    padding: [u32; 5],
    fd: i32,
}

#[repr(C, align(8))]
struct RawLine {
    name: [c_char; NAME_BYTES],
    consumer: [c_char; NAME_BYTES],
    offset: u32,
    attribute_count: u32,
    flags: u64,
    attributes: [RawAttribute; ATTRIBUTES],
    padding: [u32; 4],
}

#[repr(C, align(8))]
struct RawValues {
    bits: u64,
    mask: u64,
}

// The request numbers contain the sizes; a wrong size would be refused as ENOTTY.
const _: () = assert!(size_of::<RawChip>() == 68 && size_of::<RawLine>() == 256 && size_of::<RawRequest>() == 592);

const GET_CHIP: Opcode = opcode::read::<RawChip>(0xb4, 0x01);
const GET_LINE_INFO: Opcode = opcode::read_write::<RawLine>(0xb4, 0x05);
const GET_LINE: Opcode = opcode::read_write::<RawRequest>(0xb4, 0x07);
const GET_VALUES: Opcode = opcode::read_write::<RawValues>(0xb4, 0x0e);
const SET_VALUES: Opcode = opcode::read_write::<RawValues>(0xb4, 0x0f);

/// Reads information on a chip (GPIO_GET_CHIPINFO_IOCTL).
///
/// # Errors
/// `ENOTTY`, `EINVAL`: the descriptor is not a GPIO chip. `ENODEV`: the chip was removed.
pub fn chip_info(chip: impl AsFd) -> Result<ChipInfo, Error> {
    // SAFETY: the kernel writes one gpiochip_info, which every bit pattern is.
    let read = unsafe { ioctl(chip, Getter::<GET_CHIP, RawChip>::new()) };
    let raw = read.map_err(failed("GPIO_GET_CHIPINFO"))?;
    Ok(ChipInfo { name: text(&raw.name), label: text(&raw.label), lines: raw.lines })
}

/// Reads information on a line (GPIO_V2_GET_LINEINFO_IOCTL).
///
/// # Errors
/// `EINVAL`: the chip has no such line. `ENODEV`: the chip was removed.
pub fn line_info(chip: impl AsFd, offset: u32) -> Result<LineInfo, Error> {
    let mut raw = RawLine {
        name: [0; NAME_BYTES],
        consumer: [0; NAME_BYTES],
        offset,
        attribute_count: 0,
        flags: 0,
        attributes: [RawAttribute::default(); ATTRIBUTES],
        padding: [0; 4],
    };
    update::<GET_LINE_INFO, _>(chip, &mut raw).map_err(failed("GPIO_V2_GET_LINEINFO"))?;
    Ok(LineInfo { offset: raw.offset, name: text(&raw.name), consumer: text(&raw.consumer), flags: raw.flags })
}

/// Requests a line (GPIO_V2_GET_LINE_IOCTL) and returns its descriptor. The line is held until the descriptor is
/// closed. Events are read from the descriptor, [`EVENT_BYTES`] each. The descriptor is blocking and close-on-exec
/// (linereq_create, drivers/gpio/gpiolib-cdev.c).
///
/// # Errors
/// `EBUSY`: the line is in use. `EINVAL`: the chip has no such line, or the flags are incompatible. `EPERM`: the line
/// cannot be driven. `ENXIO`, `EOPNOTSUPP`: the line has no interrupt.
pub fn request(chip: impl AsFd, wanted: &LineRequest<'_>) -> Result<OwnedFd, Error> {
    let mut raw = raw_request(wanted);
    update::<GET_LINE, _>(chip, &mut raw).map_err(failed("GPIO_V2_GET_LINE"))?;
    // SAFETY: the call succeeded, so fd is a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw.fd) })
}

fn raw_request(wanted: &LineRequest<'_>) -> RawRequest {
    let mut attributes = [RawConfigAttribute::default(); ATTRIBUTES];
    let is_output = wanted.flags & OUTPUT != 0;
    if let (true, Some(first)) = (is_output, attributes.first_mut()) {
        first.attribute = RawAttribute { id: OUTPUT_VALUES, padding: 0, value: u64::from(wanted.value) };
        first.mask = 1;
    }
    let mut consumer = [0; NAME_BYTES];
    for (to, from) in consumer.iter_mut().take(NAME_BYTES - 1).zip(wanted.consumer.bytes()) {
        *to = from as c_char;
    }
    let mut offsets = [0; LINES];
    offsets[0] = wanted.offset;
    let attribute_count = u32::from(is_output);
    let config = RawConfig { flags: wanted.flags, attribute_count, padding: [0; 5], attributes };
    let event_buffer_size = wanted.event_buffer_size;
    RawRequest { offsets, consumer, config, line_count: 1, event_buffer_size, padding: [0; 5], fd: -1 }
}

/// Returns the logical value of a requested line (GPIO_V2_LINE_GET_VALUES_IOCTL).
///
/// # Errors
/// `ENODEV`: the chip was removed. The driver may return other errors.
pub fn value(line: impl AsFd) -> Result<bool, Error> {
    let mut raw = RawValues { bits: 0, mask: 1 };
    update::<GET_VALUES, _>(line, &mut raw).map_err(failed("GPIO_V2_LINE_GET_VALUES"))?;
    Ok(raw.bits & 1 == 1)
}

/// Sets the logical value of a line requested as an output (GPIO_V2_LINE_SET_VALUES_IOCTL).
///
/// # Errors
/// `EPERM`: the line was not requested as an output. `ENODEV`: the chip was removed.
pub fn set_value(line: impl AsFd, value: bool) -> Result<(), Error> {
    let mut raw = RawValues { bits: u64::from(value), mask: 1 };
    update::<SET_VALUES, _>(line, &mut raw).map(drop).map_err(failed("GPIO_V2_LINE_SET_VALUES"))
}

/// Calls ioctl(2) with a request that reads and writes `value`. `NUMBER` must be the request number for type `T`.
fn update<const NUMBER: Opcode, T>(fd: impl AsFd, value: &mut T) -> Result<(), Errno> {
    // SAFETY: the request number is made from T (above), so the kernel reads and writes one live T; each T here holds
    // integers only, so every bit pattern is valid.
    unsafe { ioctl(fd, Updater::<NUMBER, T>::new(value)) }
}

fn failed(request: &'static str) -> impl FnOnce(Errno) -> Error {
    move |errno| Error::from_errno("ioctl", request, errno)
}

fn text(name: &[c_char]) -> String {
    let bytes: Vec<u8> = name.iter().map(|c| *c as u8).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        // Values from a C program that includes linux/gpio.h, x86-64.
        assert_eq!(GET_CHIP, 0x8044_b401);
        assert_eq!(GET_LINE_INFO, 0xc100_b405);
        assert_eq!(GET_LINE, 0xc250_b407);
        assert_eq!(GET_VALUES, 0xc010_b40e);
        assert_eq!(SET_VALUES, 0xc010_b40f);
    }

    #[test]
    fn an_output_brings_its_first_value() {
        let request = LineRequest { offset: 5, consumer: "test", flags: OUTPUT, event_buffer_size: 0, value: true };
        let raw = raw_request(&request);
        let first = &raw.config.attributes[0];
        assert_eq!((raw.config.attribute_count, first.attribute.id, first.attribute.value, first.mask), (1, 2, 1, 1));
        assert_eq!((raw.offsets[0], raw.offsets[1], raw.line_count), (5, 0, 1));
        assert_eq!(raw_request(&LineRequest { flags: INPUT, ..request }).config.attribute_count, 0);
    }

    #[test]
    fn names_are_cut_and_end_with_a_zero() {
        let long = "x".repeat(100);
        let request = LineRequest { offset: 0, consumer: &long, flags: INPUT, event_buffer_size: 0, value: false };
        assert_eq!(text(&raw_request(&request).consumer), "x".repeat(31));
    }

    #[test]
    fn what_is_no_chip_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let error = chip_info(&file).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOTTY), "{error}");
        assert!(line_info(&file, 0).is_err() && value(&file).is_err() && set_value(&file, true).is_err());
    }
}
