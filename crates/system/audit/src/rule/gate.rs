//! Named conditions that many rules share: `gates.toml`.

use super::{Named, Read, When};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Common {
    pub reads: Named<Read>,
    pub when: When,
    pub otherwise: String,
}

pub(crate) type Commons = BTreeMap<String, Common>;
