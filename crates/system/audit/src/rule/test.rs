//! A test of one read; [`crate::truth`] applies it.

use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A test holds if all its given parts hold. A bare word or number is short for `is`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Test {
    pub is: Option<Word>,
    pub not: Option<Word>,
    pub one_of: Option<Vec<Word>>,
    pub contains: Option<String>,
    pub lacks: Option<String>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub present: Option<bool>,
    pub empty: Option<bool>,
    pub all: Option<Box<Test>>,
    pub any: Option<Box<Test>>,
}

impl Test {
    pub fn asks_value(&self) -> bool {
        let words = self.is.is_some() || self.not.is_some() || self.one_of.is_some();
        let parts = self.contains.is_some() || self.lacks.is_some();
        words || parts || self.min.is_some() || self.max.is_some()
    }

    /// Returns true if any part fails on an empty or absent read.
    pub fn needs_something(&self) -> bool {
        let inner = self.all.is_some() || self.any.is_some() || self.empty.is_some();
        self.asks_value() || inner || self.present == Some(true)
    }

    fn is_blank(&self) -> bool {
        !self.needs_something() && self.present.is_none()
    }
}

/// A word to compare with; numbers and booleans are compared as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub String);

/// A test that is written as a table.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    is: Option<Word>,
    not: Option<Word>,
    one_of: Option<Vec<Word>>,
    contains: Option<String>,
    lacks: Option<String>,
    min: Option<i64>,
    max: Option<i64>,
    present: Option<bool>,
    empty: Option<bool>,
    all: Option<Box<Test>>,
    any: Option<Box<Test>>,
}

impl From<Table> for Test {
    fn from(t: Table) -> Test {
        let Table { is, not, one_of, contains, lacks, min, max, present, empty, all, any } = t;
        Test { is, not, one_of, contains, lacks, min, max, present, empty, all, any }
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Word, D::Error> {
        d.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl Visitor<'_> for WordVisitor {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or an integer")
    }

    fn visit_str<E>(self, text: &str) -> Result<Word, E> {
        Ok(Word(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Word, E> {
        Ok(Word(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Word, E> {
        Ok(Word(number.to_string()))
    }
}

impl<'de> Deserialize<'de> for Test {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Test, D::Error> {
        d.deserialize_any(TestVisitor)
    }
}

/// Implemented manually because an untagged enum would report every error as "matched no variant".
struct TestVisitor;

impl<'de> Visitor<'de> for TestVisitor {
    type Value = Test;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, an integer or a table of tests")
    }

    fn visit_str<E>(self, text: &str) -> Result<Test, E> {
        Ok(Test { is: Some(Word(text.to_owned())), ..Test::default() })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Test, E> {
        Ok(Test { is: Some(Word(number.to_string())), ..Test::default() })
    }

    fn visit_u64<E>(self, number: u64) -> Result<Test, E> {
        Ok(Test { is: Some(Word(number.to_string())), ..Test::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Test, A::Error> {
        let test = Test::from(Table::deserialize(MapAccessDeserializer::new(map))?);
        if test.is_blank() {
            return Err(serde::de::Error::custom("an empty test is always true: remove it"));
        }
        Ok(test)
    }
}
