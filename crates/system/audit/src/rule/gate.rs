//! Conditions that many rules share, by name: `gates.toml`.

use super::{Read, When};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Common {
    pub reads: BTreeMap<String, Read>,
    pub when: When,
    /// What a rule says where it does not hold.
    pub otherwise: String,
}

/// All of them.
pub(crate) type Commons = BTreeMap<String, Common>;
