//! The boot loader, which decides how a kernel is tried.

use super::System;
use crate::{Board, BootWay, UsualLoader};
use punctual_boot::{BootError, Kind, detect};
use punctual_machine::{Listing, Machine, Read};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// Recognised by the machine's files.
    Seen(Kind),
    /// None was recognised; this is the one that the board or the system's installer uses.
    Usual(Kind),
    /// The loader is unknown, for this reason.
    Unknown(String),
    /// The plan is for another machine.
    NotLooked,
}

impl Loader {
    pub fn of(view: &dyn Machine, board: &Board, system: Option<&System>) -> Loader {
        match detect(view) {
            Ok(chain) => Loader::Seen(chain.kind),
            Err(error @ BootError::Unknown { .. }) => match usual(board, system) {
                Some(kind) => Loader::Usual(kind),
                None if has_tree(view) => Loader::Unknown(U_BOOT.to_owned()),
                None => Loader::Unknown(error.to_string()),
            },
            Err(error) => Loader::Unknown(error.to_string()),
        }
    }

    pub fn kind(&self) -> Option<Kind> {
        match self {
            Loader::Seen(kind) | Loader::Usual(kind) => Some(*kind),
            Loader::Unknown(_) | Loader::NotLooked => None,
        }
    }

    /// Describes the loader; `None` if the machine was not examined.
    pub(super) fn said(&self) -> Option<String> {
        match self {
            Loader::Seen(kind) => Some(kind.name().to_owned()),
            Loader::Usual(kind) => Some(format!("{}, the usual one; none was recognised here", kind.name())),
            Loader::Unknown(why) => Some(format!("unknown: {why}")),
            Loader::NotLooked => None,
        }
    }

    /// Returns true if the kernel is part of the system's image, whose owner decides about it.
    pub(super) fn is_image(&self) -> bool {
        matches!(self.kind(), Some(Kind::Ostree | Kind::UbuntuCore))
    }
}

const U_BOOT: &str = "probably U-Boot, since the firmware provides a device tree and is not EFI; none of the known files that name its kernel \
                      exists (extlinux.conf, armbianEnv.txt): look for uEnv.txt, boot.scr, fw_printenv";

fn has_tree(view: &dyn Machine) -> bool {
    matches!(view.read("/proc/device-tree/model"), Read::Known(_))
        && !matches!(view.list("/sys/firmware/efi"), Listing::Known(_))
}

fn usual(board: &Board, system: Option<&System>) -> Option<Kind> {
    if board.boot == BootWay::RaspberryPi {
        return Some(Kind::RaspberryPi);
    }
    Some(match system?.usual_loader(board.arch)? {
        UsualLoader::Grub => Kind::GrubDebian,
        UsualLoader::GrubBls => Kind::GrubBls,
        UsualLoader::Extlinux => Kind::Extlinux,
        UsualLoader::Armbian => Kind::Armbian,
    })
}
