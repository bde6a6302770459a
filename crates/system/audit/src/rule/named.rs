use serde::Deserialize;
use std::collections::BTreeMap;

/// A small map, sorted by name. Most rules read one or two values, and a `BTreeMap` allocates room for eleven with its
/// first entry, which would take two megabytes for all rules.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "BTreeMap<String, T>", bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct Named<T>(Box<[(String, T)]>);

impl<T> From<BTreeMap<String, T>> for Named<T> {
    fn from(map: BTreeMap<String, T>) -> Named<T> {
        Named(map.into_iter().collect())
    }
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(Box::default())
    }
}

impl<T> Named<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &T)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.iter().map(|(name, _)| name)
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
