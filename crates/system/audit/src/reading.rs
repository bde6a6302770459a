//! The result of evaluating one `read` entry of a rule: values, and gaps for what could not be read.

use punctual_machine::Read;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
}

impl Value {
    pub fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
        }
    }

    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(text) => text.parse().ok(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub source: String,
    pub cause: Cause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The file does not exist; for some rules, its absence is an answer.
    Absent,
    Denied,
    /// The content is withheld without an error, for example by a namespace or a mount option.
    Hidden(String),
    Failed(i32),
    /// The file is missing although it must exist, so nothing follows from its absence.
    Missing,
    /// The content is not in the expected form.
    Garbled(&'static str),
    /// The configuration is available but does not mention the option; the text says why.
    LeftOut(&'static str),
    NotGiven,
}

impl Gap {
    pub fn new(source: impl Into<String>, cause: Cause) -> Gap {
        Gap { source: source.into(), cause }
    }

    /// Turns absence into [`Cause::Missing`], for something that always exists on the machines in question.
    pub fn expected(self) -> Gap {
        let cause = if self.cause == Cause::Absent { Cause::Missing } else { self.cause };
        Gap { cause, ..self }
    }

    pub fn is_blocked(&self) -> bool {
        matches!(self.cause, Cause::Denied | Cause::Hidden(_))
    }

    pub fn is_not_given(&self) -> bool {
        self.cause == Cause::NotGiven
    }

    pub fn is_left_out(&self) -> bool {
        matches!(self.cause, Cause::LeftOut(_))
    }

    pub fn describe(&self) -> String {
        format!("{} {}", self.source, self.cause.describe())
    }
}

impl Cause {
    pub fn describe(&self) -> String {
        match self {
            Cause::Absent => "does not exist".to_owned(),
            Cause::Missing => "is missing, which proves nothing".to_owned(),
            Cause::Denied => "cannot be read (permission or lockdown)".to_owned(),
            Cause::Hidden(why) => format!("is hidden: {why}"),
            Cause::Failed(errno) => format!("cannot be read: {}", std::io::Error::from_raw_os_error(*errno)),
            Cause::Garbled(expected) => format!("contains no {expected}"),
            Cause::LeftOut(why) => format!("is not in the file: {why}"),
            Cause::NotGiven => "was not given".to_owned(),
        }
    }

    /// Returns why the file was not read; `None` if it was read.
    pub fn of(read: &Read) -> Option<Cause> {
        match read {
            Read::Known(_) => None,
            Read::Absent => Some(Cause::Absent),
            Read::Denied => Some(Cause::Denied),
            Read::Failed(errno) => Some(Cause::Failed(*errno)),
            Read::NotGiven => Some(Cause::NotGiven),
        }
    }
}

pub(crate) type Known = Result<Value, Gap>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The element that the value belongs to, if worth showing: `policy0`.
    pub label: String,
    pub value: Known,
    /// True if it is unknown whether the element exists. Then its label is its text.
    pub is_open: bool,
}

impl Item {
    fn show(&self) -> String {
        match &self.value {
            Err(gap) if self.is_open => format!("{} ({})", self.label, gap.describe()),
            value => show_one(value),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Many {
    pub items: Vec<Item>,
    /// Why more items may exist; `None` if the list is complete.
    pub missing: Option<Gap>,
}

impl Many {
    pub fn unknown(gap: Gap) -> Many {
        Many { items: Vec::new(), missing: Some(gap) }
    }

    pub fn push(&mut self, label: impl Into<String>, value: Known) {
        self.items.push(Item { label: label.into(), value, is_open: false });
    }

    /// Adds an element that exists or not; the gap says what this depends on.
    pub fn push_open(&mut self, text: String, gap: Gap) {
        self.items.push(Item { label: text, value: Err(gap), is_open: true });
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    One(Known),
    Many(Many),
}

impl Reading {
    pub fn word(text: impl Into<String>) -> Reading {
        Reading::One(Ok(Value::Text(text.into())))
    }

    pub fn gap(gap: Gap) -> Reading {
        Reading::One(Err(gap))
    }
}

/// Maximum number of list elements shown; the evidence lists all of them.
const SHOWN: usize = 6;

impl Reading {
    /// Formats the values for a sentence: `performance`, `policy0 ondemand, policy4 schedutil`,
    /// `performance on each of 4`.
    pub fn show(&self) -> String {
        match self {
            Reading::One(known) => show_one(known),
            Reading::Many(many) => many.show(),
        }
    }
}

fn show_one(known: &Known) -> String {
    known.as_ref().map_or_else(|_| "unknown".to_owned(), Value::text)
}

impl Many {
    fn show(&self) -> String {
        let texts: Vec<String> = self.items.iter().map(Item::show).collect();
        if let [first, rest @ ..] = texts.as_slice()
            && !rest.is_empty()
            && rest.iter().all(|text| text == first)
            && self.items.iter().all(|item| !item.label.is_empty())
        {
            return format!("{first} on each of {}", texts.len());
        }
        let labelled = |(item, text): (&Item, &String)| match item.label.as_str() {
            _ if item.is_open => text.clone(),
            "" => text.clone(),
            label => format!("{label} {text}"),
        };
        let mut shown: Vec<String> = self.items.iter().zip(&texts).take(SHOWN).map(labelled).collect();
        if self.items.len() > SHOWN {
            shown.push(format!("and {} more", self.items.len() - SHOWN));
        }
        if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_values_of_elements_are_unknown_on_each() {
        let mut many = Many::default();
        for cpu in ["cpu2", "cpu3"] {
            many.push(cpu, Err(Gap::new("/sys/x", Cause::NotGiven)));
        }
        assert_eq!(many.show(), "unknown on each of 2");
        many.push("cpu4", Ok(Value::Number(1)));
        assert_eq!(many.show(), "cpu2 unknown, cpu3 unknown, cpu4 1");
    }

    #[test]
    fn elements_that_may_not_exist_have_the_reason() {
        let mut many = Many::default();
        many.push_open("a=1".to_owned(), Gap::new("whether [pi4] holds", Cause::NotGiven));
        assert_eq!(many.show(), "a=1 (whether [pi4] holds was not given)");
    }
}
