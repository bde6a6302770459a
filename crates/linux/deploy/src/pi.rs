//! Names of kernels on Raspberry Pis by model, from the boards known to `punctual-kernel`.

use crate::site::Site;
use punctual_kernel::{Arch, Board, boards};
use punctual_machine::Listing;

/// Name of the 64-bit kernel, the same on every model.
pub(crate) const KERNEL8: &str = "kernel8.img";

/// Returns the board entries of this model, one for 32-bit and one for 64-bit kernels.
fn entries(site: &Site) -> Vec<&'static Board> {
    let read = site.view.read("/proc/device-tree/model");
    let Some(model) = read.text() else { return Vec::new() };
    let is_of = |board: &&Board| board.models.iter().any(|start| model.starts_with(start.as_str()));
    boards().iter().filter(is_of).collect()
}

/// Returns `kernel.img`, `kernel7.img` or `kernel7l.img`; `None` if the model has no 32-bit kernel, or is unknown.
pub(crate) fn name_of_32_bits(site: &Site) -> Option<String> {
    let found = entries(site).into_iter().find(|board| board.arch == Arch::Arm)?;
    found.pi.as_ref().map(|names| names.image.clone())
}

/// Returns the kernel that the firmware starts if config.txt does not name one: an existing file with one of this
/// model's names. If several exist, the choice depends on the model and the version of the firmware; each of them is
/// an old kernel.
pub(crate) fn usual(site: &Site, folder: &str) -> String {
    let Listing::Known(there) = site.view.list(folder) else { return KERNEL8.to_owned() };
    let mut found = entries(site);
    found.sort_by_key(|board| board.arch == Arch::Arm);
    let mut names = found.iter().filter_map(|board| board.pi.as_ref()).map(|names| names.image.clone());
    names.find(|name| there.contains(name)).unwrap_or_else(|| KERNEL8.to_owned())
}
