use punctual_rt::Line;
use std::fmt;
use std::str::FromStr;

pub const MAX_DIGITS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    digits: Box<[u8]>,
    command: Line,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    #[error("`{0}` is not NUMBER=COMMAND: write for example 421=d21")]
    NoCommand(String),
    /// The number has no digits, too many digits, or other characters.
    #[error("`{0}` is not a number: write 1 to {MAX_DIGITS} digits")]
    NoNumber(String),
    /// The command is too long for one line on the pipe.
    #[error("the command of {number} does not fit: it must be 1 to 62 bytes on one line, but is `{command}`")]
    Command { number: String, command: String },
    #[error("the number {0} has two commands: remove one")]
    Twice(String),
}

impl Entry {
    /// Creates an entry from a number, given as digits, and the command that is written to the pipe for it.
    ///
    /// # Errors
    /// [`BookError`].
    pub fn new(number: &str, command: &str) -> Result<Entry, BookError> {
        let digits: Option<Box<[u8]>> = number.chars().map(|c| c.to_digit(10).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| (1..=MAX_DIGITS).contains(&digits.len()));
        let digits = digits.ok_or_else(|| BookError::NoNumber(number.into()))?;
        let line = Line::new(command).filter(|_| !command.trim().is_empty());
        let command = line.ok_or_else(|| BookError::Command { number: number.into(), command: command.into() })?;
        Ok(Entry { digits, command })
    }

    pub fn digits(&self) -> &[u8] {
        &self.digits
    }

    pub fn command(&self) -> Line {
        self.command
    }
}

impl FromStr for Entry {
    type Err = BookError;

    fn from_str(text: &str) -> Result<Entry, BookError> {
        let (number, command) = text.split_once('=').ok_or_else(|| BookError::NoCommand(text.into()))?;
        Entry::new(number.trim(), command.trim())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits.iter().try_for_each(|digit| write!(f, "{digit}"))?;
        write!(f, "={}", String::from_utf8_lossy(self.command.as_bytes()))
    }
}

/// Result of looking up digits, which may still be incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// No number starts with these digits.
    Nothing,
    /// Some number starts with these digits, but the digits are not a complete number.
    Begun,
    Number {
        entry: &'a Entry,
        /// True if there are longer numbers that start with this number.
        longer: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book(Vec<Entry>);

/// The entries of the paper: 421 switches the socket d2 on, 420 switches it off.
impl Default for Book {
    fn default() -> Book {
        let entries = [("421", "d21"), ("420", "d20")];
        Book(entries.into_iter().filter_map(|(number, command)| Entry::new(number, command).ok()).collect())
    }
}

impl Book {
    /// Creates a book of these numbers, each with its command.
    ///
    /// # Errors
    /// [`BookError::Twice`].
    pub fn new(entries: Vec<Entry>) -> Result<Book, BookError> {
        for (at, entry) in entries.iter().enumerate() {
            if entries.iter().take(at).any(|other| other.digits == entry.digits) {
                let number = entry.digits.iter().map(u8::to_string).collect();
                return Err(BookError::Twice(number));
            }
        }
        Ok(Book(entries))
    }

    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Looks up digits, each 0 to 9. Does not allocate.
    pub fn find(&self, digits: &[u8]) -> Found<'_> {
        let begins = |entry: &&Entry| entry.digits.starts_with(digits);
        let longer = self.0.iter().filter(begins).any(|entry| entry.digits.len() > digits.len());
        match self.0.iter().find(|entry| *entry.digits == *digits) {
            Some(entry) => Found::Number { entry, longer },
            None if longer => Found::Begun,
            None => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_and_so_is_what_begins_like_them() {
        let book = Book::new(vec!["42=x".parse().unwrap(), "421=d21".parse().unwrap()]).unwrap();
        assert!(matches!(book.find(&[4]), Found::Begun));
        assert!(matches!(book.find(&[4, 2]), Found::Number { longer: true, .. }));
        assert!(
            matches!(book.find(&[4, 2, 1]), Found::Number { longer: false, entry } if entry.command().as_bytes() == b"d21")
        );
        assert!(matches!(book.find(&[1]), Found::Nothing));
        assert_eq!(book.entries()[1].to_string(), "421=d21");
    }

    #[test]
    fn what_is_no_entry_is_refused_with_an_example() {
        let parse = |text: &str| text.parse::<Entry>().unwrap_err();
        assert!(matches!(parse("421"), BookError::NoCommand(_)));
        for bad in ["=d21", "42a=d21", "12345678901234567=d21", "-1=d21"] {
            assert!(matches!(parse(bad), BookError::NoNumber(_)), "{bad}");
        }
        for bad in ["421=", &format!("421={}", "x".repeat(63)), "421=a\nb"] {
            assert!(matches!(parse(bad), BookError::Command { .. }), "{bad}");
        }
        let twice = vec!["421=a".parse().unwrap(), "421=b".parse().unwrap()];
        assert_eq!(Book::new(twice), Err(BookError::Twice("421".into())));
    }
}
