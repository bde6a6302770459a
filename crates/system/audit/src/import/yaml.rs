//! The subset of YAML that configuration files use: mappings, lists and words, with their positions. Aliases are
//! rejected: a few lines of them can expand without bound.

use crate::ProfileFileError;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub line: usize,
    pub column: usize,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// An empty value, `~` or `null`.
    Null,
    Word(String),
    List(Vec<Node>),
    /// The pairs of a mapping in file order, with unique keys.
    Map(Vec<(Node, Node)>),
}

impl Node {
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Word(_) => "a word",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    pub fn word(&self) -> Option<&str> {
        match &self.value {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn error(&self, file: &str, message: impl Into<String>) -> ProfileFileError {
        ProfileFileError { file: file.to_owned(), line: self.line, column: self.column, message: message.into() }
    }
}

/// Maximum nesting depth; rt-conf's files have four levels.
const DEEPEST: usize = 32;

pub(super) fn parse(file: &str, text: &str) -> Result<Node, ProfileFileError> {
    let mut reader = Reader { file, events: Parser::new_from_str(text) };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(node(span, Value::Null)),
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            event => return reader.value(event, span, 0),
        }
    }
}

fn node(span: Span, value: Value) -> Node {
    Node { line: span.start.line(), column: span.start.col() + 1, value }
}

struct Reader<'t, I> {
    file: &'t str,
    events: I,
}

impl<'t, I: Iterator<Item = Result<(Event<'t>, Span), ScanError>>> Reader<'t, I> {
    fn next(&mut self) -> Result<(Event<'t>, Span), ProfileFileError> {
        let error =
            |line, column, message: String| ProfileFileError { file: self.file.to_owned(), line, column, message };
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(e)) => Err(error(e.marker().line(), e.marker().col() + 1, e.info().to_owned())),
            None => Err(error(1, 1, "ends too early".to_owned())),
        }
    }

    fn value(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, ProfileFileError> {
        let place = node(span, Value::Null);
        if depth > DEEPEST {
            return Err(place.error(self.file, "is nested too deeply"));
        }
        let value = match event {
            Event::Scalar(text, style, ..) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                if is_null { Value::Null } else { Value::Word(text.into_owned()) }
            }
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            Event::Alias(_) => return Err(place.error(self.file, "aliases are not supported: write the value out")),
            _ => return Err(place.error(self.file, "a value is missing")),
        };
        Ok(Node { value, ..place })
    }

    fn list(&mut self, depth: usize) -> Result<Value, ProfileFileError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.value(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, ProfileFileError> {
        let mut pairs: Vec<(Node, Node)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Value::Map(pairs));
            }
            let key = self.value(event, span, depth + 1)?;
            let Some(word) = key.word() else {
                return Err(key.error(self.file, format!("a key must be a word, not {}", key.kind())));
            };
            if !seen.insert(word.to_owned()) {
                return Err(key.error(self.file, format!("`{word}` is given twice")));
            }
            let (event, span) = self.next()?;
            let value = self.value(event, span, depth + 1)?;
            pairs.push((key, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_have_places() {
        let read = parse("x", "a:\n  b: [1, two]\n  c: ~\n").unwrap();
        let Value::Map(pairs) = read.value else { panic!() };
        let Value::Map(inner) = &pairs[0].1.value else { panic!() };
        assert_eq!((inner[0].0.line, inner[0].0.column, inner[0].0.word()), (2, 3, Some("b")));
        let Value::List(items) = &inner[0].1.value else { panic!() };
        assert_eq!(items[1].word(), Some("two"));
        assert_eq!(inner[1].1.value, Value::Null);
        assert_eq!(parse("x", "# nothing\n").unwrap().value, Value::Null);
    }

    #[test]
    fn mistakes_have_places() {
        for (text, at) in
            [("a: [1\n", "x:"), ("a: &b 1\nc: *b\n", "x:2:4"), ("a: 1\na: 2\n", "x:2:1"), ("a: 'b\n", "x:")]
        {
            let said = parse("x", text).unwrap_err().to_string();
            assert!(said.starts_with(at), "{text}: {said}");
        }
        assert!(parse("x", &"[".repeat(10_000)).is_err());
        assert!(parse("x", &"- ".repeat(10_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,200}") {
            let _ = parse("x", &text);
        }

        #[test]
        fn text_that_looks_like_it_is_answered(text in "[a-c:\\-\\[\\]{}&*!|>'\",#% \n\t]{0,60}") {
            let _ = parse("x", &text);
        }
    }
}
