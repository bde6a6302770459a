use punctual_units::{CpuList, Scheduling};
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug)]
pub struct Context {
    /// The requested policy and priority, not the granted ones: checking a fallback would hide why it was needed.
    pub scheduling: Scheduling,
    /// The CPUs to which rules about single CPUs are applied.
    pub cpus: CpuList,
    /// Selects severities and, if authorities disagree, the one to follow.
    pub profile: Profile,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// A loop of about 1 kHz on a shared machine without isolated CPUs.
    #[default]
    ControlLoop,
    DedicatedCore,
    /// A loop that uses all of its CPU.
    BusyPoll,
    AudioDesktop,
    FieldbusNic,
    /// A host whose guests run the real-time tasks.
    KvmHost,
    KvmGuest,
    PiAppliance,
    /// Measurement only: every finding is information.
    MeasureOnly,
}

impl Profile {
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

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a profile: use one of {names}", names = Profile::ALL.map(|(_, name)| name).join(", "))]
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
