//! Implements `--for`: a built-in profile, a profile file, or a file of TuneD or rt-conf.

use crate::refusal::Refusal;
use punctual_audit::{Profile, Reference, Referred, Rules, Today};
use punctual_machine::Machine;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Number of bytes to read: one more than the size limit of a profile.
const LARGEST: u64 = (1 << 20) + 1;

/// Directories in which TuneD looks for profiles (tuned-main.conf, profile_dirs).
const FOLDERS: &[&str] = &["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];

/// Returns a built-in profile or reads a profile file. Also returns the parts of the file that are not checked.
pub fn profile(wanted: &str, rules: &mut Rules, machine: &dyn Machine) -> Result<(Profile, Vec<String>), Refusal> {
    let path = Path::new(wanted);
    match wanted.parse::<Profile>() {
        Ok(profile) => Ok((profile, Vec::new())),
        Err(_) if path.is_dir() && path.join("tuned.conf").is_file() => {
            adopt(&path.join("tuned.conf").display().to_string(), rules, machine)
        }
        Err(unknown) if !path.is_file() => Err(Refusal::usage(format!(
            "{unknown}, or a file: a profile of your own, TuneD's tuned.conf or rt-conf's YAML"
        ))),
        Err(_) => adopt(wanted, rules, machine),
    }
}

fn adopt(file: &str, rules: &mut Rules, machine: &dyn Machine) -> Result<(Profile, Vec<String>), Refusal> {
    let text = read(Path::new(file)).map_err(|e| Refusal::usage(format!("cannot read {file}: {e}")))?;
    let today = today().ok_or_else(|| Refusal::environment("the system clock has no valid date"))?;
    let lookup = |reference: Reference| match reference {
        Reference::OnlineCpus => {
            let online = machine.read("/sys/devices/system/cpu/online").text()?.to_owned();
            Some(Referred { name: "online CPUs".to_owned(), text: online })
        }
        _ => find(Path::new(file), reference),
    };
    rules.adopt(file, &text, today, &lookup).map_err(Refusal::usage)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Finds a file that a profile refers to. Another profile is searched for next to the referring profile, then in
/// TuneD's directories; any other file is searched for by its path, then next to the referring profile.
fn find(profile: &Path, reference: Reference) -> Option<Referred> {
    let beside = profile.parent()?;
    let candidates: Vec<PathBuf> = match reference {
        Reference::Profile(name) if is_name(name) => {
            let around = beside.join("..");
            let folders = [beside, around.as_path()].into_iter().chain(FOLDERS.iter().map(Path::new));
            folders.map(|folder| folder.join(name).join("tuned.conf")).collect()
        }
        Reference::Profile(_) | Reference::OnlineCpus => Vec::new(),
        Reference::File(path) => {
            let path = Path::new(path);
            vec![path.to_owned(), beside.join(path.file_name()?)]
        }
    };
    let path = candidates.into_iter().find(|path| path.is_file())?;
    Some(Referred { name: path.display().to_string(), text: read(&path).ok()? })
}

fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.starts_with('.') && name.chars().all(fine)
}

fn today() -> Option<Today> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    let text = punctual_report::utc(u64::try_from(now.as_nanos()).ok()?);
    Today::try_from(text.get(..10)?.to_owned()).ok()
}
