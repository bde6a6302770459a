//! `cargo trials deploy link`: kills the controller of a deployment over ssh at random moments. Needs root, sshd,
//! unshare(1), GRUB's tools, and disk space in the folder.

use std::path::Path;
use std::process::Command;

const SCRIPT: &str = include_str!("link.sh");

/// Runs the trial in a separate mount namespace.
pub fn run(program: &Path, kernel: &[u8], runs: usize, folder: &Path) -> Result<String, String> {
    for tool in ["/usr/sbin/sshd", "/usr/sbin/grub-reboot", "/usr/bin/unshare"] {
        if !Path::new(tool).exists() {
            return Err(format!("{tool} is missing: apt-get install openssh-server grub-common util-linux"));
        }
    }
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(|e| format!("{}: {e}", path.display()))?;
        path.canonicalize().map_err(|e| e.to_string())
    };
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (script, package) = (write("link.sh", SCRIPT.as_bytes())?, write("kernel.tar", kernel)?);
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    let home = folder.canonicalize().map_err(|e| e.to_string())?.join("machine");
    let roots = xtask::root().join("crates/system/boot/tests/roots");
    let mut command = Command::new("unshare");
    command.args(["-m", "bash"]).arg(script).arg(program).arg(package).arg(runs.to_string()).arg(home).arg(roots);
    let done = command.output().map_err(|e| format!("unshare: {e}"))?;
    let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    match done.status.success() {
        true => Ok(text.replace('\n', "; ")),
        false => Err(format!("{}: {text} {}", done.status, String::from_utf8_lossy(&done.stderr))),
    }
}
