//! Finds what the host needs for a guest with a disk; errors name the package to install.

use crate::error::VmError;
use crate::tools;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The firmware's code and its empty variables, in the places where distributions install them.
const FIRMWARE: [(&str, &str); 6] = [
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
    ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"),
    ("/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"),
    ("/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"),
    ("/usr/share/edk2-ovmf/x64/OVMF_CODE.fd", "/usr/share/edk2-ovmf/x64/OVMF_VARS.fd"),
    ("/usr/share/qemu/ovmf-x86_64-code.bin", "/usr/share/qemu/ovmf-x86_64-vars.bin"),
];

#[derive(Clone, Debug)]
pub(super) struct Firmware {
    pub code: PathBuf,
    pub variables: PathBuf,
}

impl Firmware {
    pub fn find() -> Result<Firmware, VmError> {
        let there = |path: &str| Path::new(path).is_file();
        let found = FIRMWARE.iter().find(|(code, variables)| there(code) && there(variables));
        let missing = || VmError::Missing {
            program: "OVMF, the UEFI firmware for virtual machines,".into(),
            remedy: "install it: apt-get install ovmf".into(),
        };
        found.map(|(code, variables)| Firmware { code: code.into(), variables: variables.into() }).ok_or_else(missing)
    }
}

/// Returns a command for programs that may be missing from the path of an ordinary user.
pub(super) fn command(program: &str) -> Command {
    let places = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(program));
    match places.into_iter().find(|path| !tools::is_installed(program) && path.is_file()) {
        Some(path) => Command::new(path),
        None => Command::new(program),
    }
}

/// Checks what building an image needs, before anything is downloaded.
pub(super) fn can_build() -> Result<(), VmError> {
    const NEEDED: [(&str, &str); 5] = [
        ("mkfs.ext4", "e2fsprogs"),
        ("qemu-img", "qemu-utils"),
        ("dpkg-deb", "dpkg"),
        ("tar", "tar"),
        ("xz", "xz-utils"),
    ];
    for (program, package) in NEEDED {
        let there = tools::is_installed(program) || Path::new("/usr/sbin").join(program).is_file();
        if !there {
            let remedy = format!("install it: apt-get install {package}");
            return Err(VmError::Missing { program: program.into(), remedy });
        }
    }
    Firmware::find().map(drop)
}
