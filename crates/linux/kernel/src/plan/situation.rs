//! The board, operating system and running kernel that a plan starts from.

use super::PlanError;
use crate::{Board, boards};
use punctual_machine::{KernelConfig, Machine, Read, Setting, facts};
use std::fmt;

/// From os-release(5) and the running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// `debian`, `raspberry-pi-os`, …
    pub id: String,
    /// VERSION_ID; for Debian and its derivatives only up to the first dot.
    pub version: Option<String>,
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}", self.id),
            None => write!(f, "{} (version not known)", self.id),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Situation {
    pub board: &'static Board,
    /// `None`: unknown, or that of another machine.
    pub system: Option<System>,
    /// `uname -r`.
    pub release: Option<String>,
    pub is_rt: Option<bool>,
    /// CONFIG_HZ of the running kernel.
    pub hz: Option<u32>,
    /// Mount point of the Raspberry Pi's boot partition.
    pub boot_folder: Option<&'static str>,
    /// `uname -m`, to tell native from cross builds.
    pub machine: Option<String>,
}

impl Situation {
    /// If another board than this machine is named, nothing about this machine is used.
    ///
    /// # Errors
    /// If the board is unknown.
    pub fn of(view: &dyn Machine, named: Option<&str>) -> Result<Situation, PlanError> {
        let facts = facts(view);
        let (model, machine) = (facts.board.as_deref(), facts.architecture.as_deref());
        let board = match named {
            None => boards::detect(model, machine)?,
            Some(key) => {
                let board = boards::board(key)?;
                // A kernel before 6.1 does not report its architecture: then the model decides.
                let of_it = |model: &str| board.models.iter().any(|start| model.starts_with(start.as_str()));
                let is_this = match boards::detect(model, machine) {
                    Ok(detected) => detected.key == board.key,
                    Err(_) => machine.is_none() && model.is_some_and(of_it),
                };
                if !is_this {
                    return Situation::of_board(key);
                }
                board
            }
        };
        let hz = KernelConfig::read(view).ok().and_then(|config| match config.get("HZ") {
            Setting::Is(text) => text.parse().ok(),
            _ => None,
        });
        let there = |folder: &&&str| matches!(view.read(&format!("{folder}/config.txt")), Read::Known(_));
        Ok(Situation {
            board,
            system: system(view, facts.kernel_release.as_deref()),
            is_rt: facts.preempt_rt,
            release: facts.kernel_release,
            hz,
            boot_folder: ["/boot/firmware", "/boot"].iter().find(there).copied(),
            machine: facts.architecture,
        })
    }

    /// A board of which nothing else is known.
    ///
    /// # Errors
    /// If there is no such board.
    pub fn of_board(key: &str) -> Result<Situation, PlanError> {
        let board = boards::board(key)?;
        let (system, release, is_rt, hz, boot_folder, machine) = (None, None, None, None, None, None);
        Ok(Situation { board, system, release, is_rt, hz, boot_folder, machine })
    }
}

/// os-release(5): /usr/lib is read only if /etc has no such file.
fn system(view: &dyn Machine, release: Option<&str>) -> Option<System> {
    let read = match view.read("/etc/os-release") {
        Read::Absent => view.read("/usr/lib/os-release"),
        other => other,
    };
    let text = read.text()?;
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
    };
    let pretty = field("PRETTY_NAME");
    // Recordings may have the pretty name only: `Debian GNU/Linux 12 (bookworm)`.
    let id = field("ID").or_else(|| pretty_id(pretty.as_deref()?))?;
    let version = field("VERSION_ID").or_else(|| numbers(pretty.as_deref()?));
    // Raspberry Pi OS calls itself debian (64-bit) or raspbian; its kernels are called …+rpt-rpi-….
    let is_pi_os = matches!(view.read("/etc/rpi-issue"), Read::Known(_)) || release.is_some_and(|r| r.contains("+rpt"));
    match id.as_str() {
        "raspbian" => Some(System { id: "raspberry-pi-os".to_owned(), version }),
        "debian" if is_pi_os => Some(System { id: "raspberry-pi-os".to_owned(), version }),
        _ => Some(System { id, version }),
    }
}

fn pretty_id(pretty: &str) -> Option<String> {
    let known = [("Debian", "debian"), ("Ubuntu", "ubuntu"), ("Red Hat Enterprise Linux", "rhel")];
    known.iter().find(|(start, _)| pretty.starts_with(start)).map(|(_, id)| (*id).to_owned())
}

fn numbers(pretty: &str) -> Option<String> {
    let word = pretty.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(word.to_owned())
}
