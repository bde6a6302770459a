//! What the machine is to be good for.

use punctual_units::{CpuList, Scheduling};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// What is measured, and what for: the same machine suits one application and not another.
#[derive(Clone, Debug)]
pub struct Context {
    /// Policy and priority asked for (not what was got: a fallback would hide why it was needed).
    pub scheduling: Scheduling,
    /// The CPUs measured. Rules about single CPUs look at these only.
    pub cpus: CpuList,
    /// Decides severities, and the verdict where authorities disagree.
    pub profile: Profile,
}

/// A kind of application, as `--for` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// A shared machine with a loop of about 1 kHz, no isolated CPU.
    #[default]
    ControlLoop,
    /// A periodic task on an isolated CPU of its own.
    DedicatedCore,
    /// A loop that uses the whole of its CPU.
    BusyPoll,
    /// Sound on a desktop.
    AudioDesktop,
    /// A fieldbus over an Ethernet card.
    FieldbusNic,
    /// A host whose guests are the real-time tasks.
    KvmHost,
    /// A guest on such a host.
    KvmGuest,
    /// A Raspberry Pi built into something.
    PiAppliance,
    /// Only measuring: everything is for the reader.
    MeasureOnly,
}

impl Profile {
    /// All profiles with their names.
    pub const ALL: [(Profile, &'static str); 9] = [
        (Profile::ControlLoop, "control-loop"),
        (Profile::DedicatedCore, "dedicated-core"),
        (Profile::BusyPoll, "busy-poll"),
        (Profile::AudioDesktop, "audio-desktop"),
        (Profile::FieldbusNic, "fieldbus-nic"),
        (Profile::KvmHost, "kvm-host"),
        (Profile::KvmGuest, "kvm-guest"),
        (Profile::PiAppliance, "pi-appliance"),
        (Profile::MeasureOnly, "measure-only"),
    ];
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Profile::ALL.iter().find(|(profile, _)| profile == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

/// The text names no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no profile: use one of {names}", names = Profile::ALL.map(|(_, name)| name).join(", "))]
pub struct ProfileError(String);

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Profile::ALL.iter().find(|(_, name)| *name == text);
        known.map(|(profile, _)| *profile).ok_or_else(|| ProfileError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_the_names_of_the_rule_files() {
        for (profile, name) in Profile::ALL {
            assert_eq!(name.parse(), Ok(profile));
            let read: Profile = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!(read, profile);
        }
        assert!("controlloop".parse::<Profile>().is_err());
    }
}
