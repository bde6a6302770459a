//! Facts of every recorded machine match its `facts.json`, and become unknown when files are unreadable.

use proptest::prelude::*;
use punctual_machine::{KernelConfig, Listing, Machine, Read, Recorded, facts, facts_with};
use punctual_model::MachineFacts;
use std::path::{Path, PathBuf};

fn machines() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines");
    let mut machines: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("machine.toml").exists())
        .collect();
    machines.sort();
    machines
}

#[test]
fn facts_are_as_expected() {
    let mut wrong = Vec::new();
    for folder in machines() {
        let machine = Recorded::open(&folder).unwrap();
        let config = KernelConfig::read(&machine).ok();
        let facts = facts_with(&machine, config.as_ref());
        let expected: Option<MachineFacts> = std::fs::read_to_string(folder.join("facts.json"))
            .ok()
            .map(|text| serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display())));
        if expected.as_ref() != Some(&facts) {
            wrong.push(format!("{}\n{}", folder.display(), serde_json::to_string_pretty(&facts).unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

struct Uniform(Read, Listing);

impl Machine for Uniform {
    fn read(&self, _: &str) -> Read {
        self.0.clone()
    }

    fn list(&self, _: &str) -> Listing {
        self.1.clone()
    }

    fn read_part(&self, _: &str, _: u64, _: usize) -> Read {
        self.0.clone()
    }
}

#[test]
fn what_is_refused_is_unknown() {
    assert_eq!(facts(&Uniform(Read::Denied, Listing::Denied)), MachineFacts::default());
    assert_eq!(facts(&Uniform(Read::Failed(5), Listing::Failed(5))), MachineFacts::default());
    assert_eq!(facts(&Uniform(Read::Absent, Listing::Absent)), MachineFacts::default());
}

proptest! {
    #[test]
    fn any_bytes_are_answered(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        names in proptest::collection::vec("(policy|cpu)?[0-9]{0,12}", 0..4),
    ) {
        let machine = Uniform(Read::Known(bytes), Listing::Known(names));
        let config = KernelConfig::read(&machine).ok();
        let _ = facts_with(&machine, config.as_ref());
    }
}
