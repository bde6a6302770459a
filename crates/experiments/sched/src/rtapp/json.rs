//! JSON whose objects keep their order and may have duplicate keys, because rt-app executes keys in order.

use super::Unknown;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses JSON. Ignores comments (`/* … */`), which json-c accepts.
    pub fn parse(text: &str) -> Result<Json, String> {
        serde_json::from_slice(without_comments(text).as_bytes()).map_err(|e| e.to_string())
    }

    pub fn object(&self, path: &str) -> Result<&[(String, Json)], Unknown> {
        match self {
            Json::Object(pairs) => Ok(pairs),
            _ => Err(Unknown::because(path, "expected an object")),
        }
    }

    pub fn integer(&self, path: &str) -> Result<i64, Unknown> {
        match self {
            Json::Integer(n) => Ok(*n),
            _ => Err(Unknown::because(path, "expected a whole number")),
        }
    }

    pub fn text(&self, path: &str) -> Result<&str, Unknown> {
        match self {
            Json::Text(text) => Ok(text),
            _ => Err(Unknown::because(path, "expected a string")),
        }
    }
}

/// Replaces comments with blanks, so that positions in errors stay correct.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_text, mut in_comment, mut before) = (false, false, ' ');
    for c in text.chars() {
        let ends = in_comment && before == '*' && c == '/';
        let begins = !in_text && !in_comment && before == '/' && c == '*';
        if begins {
            out.pop();
            out.push(' ');
            in_comment = true;
        }
        if c == '"' && !in_comment && !(in_text && before == '\\') {
            in_text = !in_text;
        }
        out.push(if in_comment && c != '\n' { ' ' } else { c });
        in_comment &= !ends;
        // An escaped backslash does not escape the next character, and `/*/` only begins a comment.
        before = if (in_text && before == '\\' && c == '\\') || begins { ' ' } else { c };
    }
    out
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(i64::try_from(value).map_or(Json::Real(value as f64), Json::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Real(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = list.next_element()? {
            all.push(value);
        }
        Ok(Json::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(pair) = map.next_entry()? {
            all.push(pair);
        }
        Ok(Json::Object(all))
    }
}
