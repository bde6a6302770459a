//! Writes the kernel's configuration, in which everything is off except what the fragments set.

use std::fs;
use std::path::Path;

const GUEST: &str = include_str!("guest.config");
const RT: &str = include_str!("rt.config");
const STOCK: &str = include_str!("stock.config");

pub fn fragment(stock: bool) -> String {
    format!("{GUEST}{}", if stock { STOCK } else { RT })
}

/// Returns a key that distinguishes configurations in the names of folders.
pub fn key(fragment: &str) -> String {
    let mut sum = flate2::Crc::new();
    sum.update(fragment.as_bytes());
    format!("{:08x}", sum.sum())
}

/// Writes `.config` (allnoconfig with KCONFIG_ALLCONFIG, Documentation/kbuild/kconfig.rst) and checks that it contains
/// every symbol of the fragment: if the dependencies of one are not met, kconfig drops it without a message and with
/// exit code 0.
pub fn write(tree: &Path, folder: &Path, fragment: &str) -> Result<(), String> {
    let all = folder.join("fragment.config");
    fs::write(&all, fragment).map_err(|e| format!("{}: {e}", all.display()))?;
    let mut make = super::make(tree, folder);
    let output = make.arg(format!("KCONFIG_ALLCONFIG={}", all.display())).arg("allnoconfig").output();
    let output = output.map_err(|e| format!("nice make allnoconfig: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("make allnoconfig ended with {}: {said}", output.status));
    }
    let path = folder.join(".config");
    let config = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    match lost(fragment, &config).as_slice() {
        [] => Ok(()),
        lost => Err(format!(
            "kconfig dropped {}: in this kernel they depend on others, see `make menuconfig` and / in {}",
            lost.join(", "),
            tree.display()
        )),
    }
}

/// Returns the lines of the fragment that are missing in the configuration.
fn lost<'a>(fragment: &'a str, config: &str) -> Vec<&'a str> {
    let has = |line: &str| config.lines().any(|other| other.trim_end() == line);
    fragment.lines().map(str::trim).filter(|line| line.starts_with("CONFIG_") && !has(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_dropped_symbol_is_found() {
        let fragment = "# x\nCONFIG_A=y\n\nCONFIG_B=y\nCONFIG_C=4\n";
        assert_eq!(lost(fragment, "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=8\n"), ["CONFIG_B=y", "CONFIG_C=4"]);
        assert!(lost(fragment, "CONFIG_C=4\nCONFIG_B=y\nCONFIG_A=y\n").is_empty());
    }

    #[test]
    fn fragments_hold_symbols_once_and_differ() {
        for stock in [false, true] {
            let text = fragment(stock);
            let mut seen = BTreeSet::new();
            for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
                let (symbol, value) = line.split_once('=').unwrap();
                assert!(symbol.starts_with("CONFIG_") && !value.is_empty() && seen.insert(symbol.to_owned()), "{line}");
            }
            assert_eq!(seen.contains("CONFIG_PREEMPT_RT"), !stock);
        }
        assert_ne!(key(&fragment(false)), key(&fragment(true)));
    }
}
