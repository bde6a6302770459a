//! A guest that boots from its own disk, as a PC does: firmware (OVMF), GRUB, initramfs, Debian. Only such a guest
//! shows how a boot loader reacts to a change.

mod guest;
mod host;
mod image;
mod live;
mod more;
mod partitions;
mod run;
mod said;
mod steps;

pub use guest::{DiskGuest, DiskRun};
pub use image::DiskImage;
pub use live::LiveBoot;
pub use run::{Ending, Kill};
pub use said::DiskBoot;
pub use steps::Step;
