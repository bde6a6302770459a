//! Checks that the kernel has drivers for the parts of the board. The parts and their drivers are listed in `needs` of
//! `boards/*.toml`.

use super::{Check, Module, Outcome};
use punctual_kernel::config::Options;
use punctual_kernel::{Board, Need};

pub(super) fn check(board: Option<&Board>, config: &Options, modules: &[Module]) -> Check {
    let Some(board) = board else {
        return super::check("board", Outcome::Unknown, "no board is given", "give the board with --board BOARD");
    };
    let missing: Vec<String> = board.needs.iter().filter_map(|need| lacks(need, config, modules)).collect();
    match missing.as_slice() {
        [] => {
            let parts: Vec<&str> = board.needs.iter().map(|need| need.what.as_str()).collect();
            super::check("board", Outcome::Pass, format!("it drives {}", parts.join(", ")), "")
        }
        missing => {
            super::check("board", Outcome::Fail, missing.join("; "), "put the options into a fragment, =y or =m")
        }
    }
}

/// Returns what is missing for a part; `None` if it has a driver. A driver that is `m` counts only if its module is
/// present, because the initramfs or the package may lack it.
fn lacks(need: &Need, config: &Options, modules: &[Module]) -> Option<String> {
    let value = |option: &str| config.get(option).map_or("n", |value| value.text());
    let has = |module: &str| modules.iter().any(|m| m.name == module.replace('-', "_"));
    let mut lost = None;
    for (option, module) in &need.any {
        match value(option) {
            "y" => return None,
            "m" if has(module) => return None,
            "m" => {
                lost = Some(format!("no {}: CONFIG_{option} is m, and {module}.ko is not in the package", need.what))
            }
            _ => {}
        }
    }
    let names = || need.any.keys().map(|option| format!("CONFIG_{option}")).collect::<Vec<_>>().join(" or ");
    Some(lost.unwrap_or_else(|| format!("no {}: {} is off", need.what, names())))
}
