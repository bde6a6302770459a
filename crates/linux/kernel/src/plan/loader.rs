//! The boot loader, by whose words a kernel is tried.

use super::System;
use crate::{Board, BootWay, UsualLoader};
use punctual_boot::{BootError, Kind, detect};
use punctual_machine::{Listing, Machine, Read};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// By the machine's files.
    Seen(Kind),
    /// None was recognised: the one that the board or the system's installer has.
    Usual(Kind),
    /// Why it is not known.
    Unknown(String),
    /// The machine is another one.
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

    /// `None`: the machine was not looked at.
    pub(super) fn said(&self) -> Option<String> {
        match self {
            Loader::Seen(kind) => Some(kind.name().to_owned()),
            Loader::Usual(kind) => Some(format!("{}, the usual one: none was recognised here", kind.name())),
            Loader::Unknown(why) => Some(format!("not known: {why}")),
            Loader::NotLooked => None,
        }
    }

    /// Does the loader's owner decide which kernel there is, as a part of the system's image?
    pub(super) fn is_image(&self) -> bool {
        matches!(self.kind(), Some(Kind::Ostree | Kind::UbuntuCore))
    }
}

const U_BOOT: &str = "probably U-Boot, as the firmware gave a device tree and is no EFI; none of the files by which its kernel is named \
                      is known here (extlinux.conf, armbianEnv.txt): look for uEnv.txt, boot.scr, fw_printenv";

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
