//! Tests the C interface as its users see it: header, binary interface, programs, installation.

mod abi;
mod api_map;
#[cfg(feature = "reference-checks")]
mod header;
mod install;
mod languages;
mod programs;

use std::fs;
use std::path::PathBuf;

/// Returns the path of the static library, which cargo writes next to this test program under a name with a hash. There
/// is one for each set of features; the newest is built from the current source.
fn archive() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let beside = fs::read_dir(test.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libpunctual_rt_c-") && name.ends_with(".a")
    };
    let newest = beside.filter(is_ours).max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    newest.unwrap_or_else(|| panic!("no libpunctual_rt_c-….a beside {}", test.display()))
}
