//! The board, operating system and running kernel that a plan starts from.

use super::system::{self, System};
use super::{Loader, PlanError};
use crate::{Board, boards};
use punctual_machine::{KernelConfig, Machine, Read, Setting, co_kernel, facts};

#[derive(Clone, Debug)]
pub struct Situation {
    pub board: &'static Board,
    /// The machine's operating system; `None` if unknown, or if the plan is for another machine.
    pub system: Option<System>,
    /// Output of `uname -r`.
    pub release: Option<String>,
    pub is_rt: Option<bool>,
    /// The real-time core beside Linux in the running kernel: `Xenomai`, `EVL`, …
    pub core: Option<&'static str>,
    /// CONFIG_HZ of the running kernel.
    pub hz: Option<u32>,
    /// Path of the running kernel's configuration on the machine; `None` if it was not found.
    pub config: Option<String>,
    pub loader: Loader,
    /// Mount point of the Raspberry Pi's boot partition.
    pub boot_folder: Option<&'static str>,
    /// Output of `uname -m`, which distinguishes native from cross builds.
    pub machine: Option<String>,
}

impl Situation {
    /// Examines a machine. If a board other than this machine is named, nothing about this machine is used.
    ///
    /// # Errors
    /// The board is unknown.
    pub fn of(view: &dyn Machine, named: Option<&str>) -> Result<Situation, PlanError> {
        let facts = facts(view);
        let (model, machine) = (facts.board.as_deref(), facts.architecture.as_deref());
        let board = match named {
            None => boards::detect(model, machine)?,
            Some(key) => {
                let board = boards::board(key)?;
                // Kernels before 6.1 do not report their architecture; then the model decides.
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
        let config = KernelConfig::read(view).ok();
        let hz = config.as_ref().and_then(|config| match config.get("HZ") {
            Setting::Is(text) => text.parse().ok(),
            _ => None,
        });
        let system = system::system(view, facts.kernel_release.as_deref());
        let there = |folder: &&&str| matches!(view.read(&format!("{folder}/config.txt")), Read::Known(_));
        Ok(Situation {
            board,
            loader: Loader::of(view, board, system.as_ref()),
            system,
            config: config.as_ref().map(|config| config.path().to_owned()),
            is_rt: facts.preempt_rt,
            core: co_kernel(view, config.as_ref()),
            release: facts.kernel_release,
            hz,
            boot_folder: ["/boot/firmware", "/boot"].iter().find(there).copied(),
            machine: facts.architecture,
        })
    }

    /// Creates a situation in which only the board is known.
    ///
    /// # Errors
    /// There is no such board.
    pub fn of_board(key: &str) -> Result<Situation, PlanError> {
        let board = boards::board(key)?;
        Ok(Situation {
            board,
            system: None,
            release: None,
            is_rt: None,
            core: None,
            hz: None,
            config: None,
            loader: Loader::NotLooked,
            boot_folder: None,
            machine: None,
        })
    }
}
