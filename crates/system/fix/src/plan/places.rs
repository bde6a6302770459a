//! Replaces the placeholders in capital letters that rules contain: CPUS, HOUSEKEEPING, TID, IF.

use super::Request;
use punctual_units::CpuList;

pub(super) struct Places {
    /// The application's CPUs.
    pub cpus: CpuList,
    pub isolated: CpuList,
    /// All other CPUs; `None` if unknown.
    pub housekeeping: Option<CpuList>,
    /// True if the application uses all CPUs of the machine; `None` if the online or isolated CPUs are unknown.
    pub is_everywhere: Option<bool>,
    pid: Option<u32>,
}

/// Placeholders that only the user can replace, with advice.
const OPEN: &[(&str, &str)] = &[
    ("N", "choose a number"),
    ("GROUP", "choose a group"),
    ("DEVICE", "choose a device"),
    ("USER", "choose a user"),
    ("$USER", "choose a user"),
    ("NAME", "choose a name"),
    ("PRIORITY", "choose a priority"),
];

/// Error if the application may use all CPUs, so that none would be left for anything else.
pub(super) const UNKNOWN_CPUS: &str = "the online or isolated CPUs cannot be read, so these may be all CPUs";

impl Places {
    pub fn new(request: &Request) -> Places {
        let cpus = request.context.cpus.clone();
        let sets = request.rules.cpu_sets(request.machine, request.context);
        let is_everywhere = sets.as_ref().map(|(_, online)| cpus == *online);
        let (isolated, online) = sets.unwrap_or_default();
        let kept = |taken: &CpuList| Some(online.minus(taken)).filter(|rest| !taken.is_empty() && !rest.is_empty());
        let housekeeping = kept(&isolated).or_else(|| kept(&cpus));
        Places { is_everywhere, cpus, isolated, housekeeping, pid: request.pid }
    }

    /// # Errors
    /// The CPUs are unknown.
    pub fn measured(&self) -> Result<&CpuList, String> {
        match self.cpus.is_empty() {
            true => Err("the application's CPUs are unknown: use --cpus".to_owned()),
            false => Ok(&self.cpus),
        }
    }

    /// # Errors
    /// The reason why a placeholder cannot be replaced.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(is_part) {
            let (before, after) = rest.split_at(at);
            let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
            let (word, behind) = after.split_at(end);
            filled.push_str(before);
            // `NAME=value` in a configuration file is a key, not a placeholder.
            filled.push_str(&if behind.starts_with('=') { word.to_owned() } else { self.word(word)? });
            rest = behind;
        }
        Ok(filled + rest)
    }

    fn word(&self, word: &str) -> Result<String, String> {
        let housekeeping = || self.housekeeping.as_ref().map(CpuList::to_string);
        match word {
            "HOUSEKEEPING" => housekeeping()
                .ok_or_else(|| "no CPU is isolated, so no other CPUs are reserved for housekeeping".to_owned()),
            "CPUS" if self.cpus.is_empty() => self.measured().map(CpuList::to_string),
            "CPUS" => match self.is_everywhere {
                Some(false) => Ok(self.cpus.to_string()),
                Some(true) => Err("choose the CPUs: --cpus".to_owned()),
                None => Err(UNKNOWN_CPUS.to_owned()),
            },
            "TID" => {
                self.pid.map(|pid| pid.to_string()).ok_or_else(|| "the application is unknown: use --pid".to_owned())
            }
            word => match OPEN.iter().find(|(open, _)| *open == word) {
                Some((_, why)) => Err((*why).to_owned()),
                None => Ok(word.to_owned()),
            },
        }
    }
}
