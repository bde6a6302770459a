use crate::words::{is_cumulative, is_pages, is_same, key, ranges};

/// Parameters that a machine may need to find its root file system.
const NEEDED: &[&str] =
    &["root", "rootfstype", "rootflags", "ostree", "init", "cryptdevice", "snapd_recovery_mode", "BOOT_IMAGE"];

/// Maximum length of a word, bytes: the largest COMMAND_LINE_SIZE of all architectures (s390).
const LONGEST: usize = 4096;

/// Parameters to add and to remove. An added parameter replaces its earlier value, except if several values take effect
/// (`console=`, `earlycon=`, `rd.*`, …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Words to add, as written on a command line: `isolcpus=2-3`, `x="a b"`.
    pub add: Vec<String>,
    /// Parameters to remove: `name` removes every value, `name=value` only this one.
    pub remove: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel parameter `{word}`: {why}")]
pub struct BadWord {
    pub word: String,
    pub why: &'static str,
}

impl Change {
    /// Creates a change; duplicate words are merged.
    ///
    /// # Errors
    /// A word is invalid, two words set the same parameter to different values, or a parameter is removed that may be
    /// needed to find the root file system.
    pub fn new<S: Into<String>, T: Into<String>>(
        add: impl IntoIterator<Item = S>,
        remove: impl IntoIterator<Item = T>,
    ) -> Result<Change, BadWord> {
        let change = Change {
            add: add.into_iter().map(Into::into).collect(),
            remove: remove.into_iter().map(Into::into).collect(),
        };
        change.check()?;
        Ok(change.once())
    }

    /// Keeps only the first of several equal words, because the next change would remove the others. Page sizes and
    /// counts may occur several times, because the same count may follow several sizes.
    pub(crate) fn once(mut self) -> Change {
        for list in [&mut self.add, &mut self.remove] {
            let mut kept: Vec<String> = Vec::new();
            list.retain(|word| {
                let is_new = is_pages(word) || !kept.iter().any(|other| is_same(other, word));
                kept.extend(is_new.then(|| word.clone()));
                is_new
            });
        }
        self
    }

    /// Creates a change from two lists of words separated by spaces, as in rules.
    pub fn parse(add: &str, remove: &str) -> Result<Change, BadWord> {
        let all =
            |text: &str| ranges(text).into_iter().filter_map(|r| text.get(r).map(str::to_owned)).collect::<Vec<_>>();
        Change::new(all(add), all(remove))
    }

    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    pub(crate) fn check(&self) -> Result<(), BadWord> {
        let bad = |word: &String, why| Err(BadWord { word: word.clone(), why });
        for word in self.add.iter().chain(&self.remove) {
            if let Some(why) = fault(word) {
                return bad(word, why);
            }
        }
        if let Some(word) = self.remove.iter().find(|word| NEEDED.contains(&key(word).as_str())) {
            return bad(word, "needed to find the root file system");
        }
        for (n, word) in self.add.iter().enumerate().filter(|(_, word)| !is_cumulative(word) && !is_pages(word)) {
            if self.add.iter().skip(n + 1).any(|other| key(other) == key(word) && !is_same(other, word)) {
                return bad(word, "given with two values");
            }
        }
        Ok(())
    }
}

fn fault(word: &str) -> Option<&'static str> {
    if word.is_empty() {
        Some("empty")
    } else if word.len() > LONGEST {
        Some("longer than any command line")
    } else if !word.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Some("has characters other than printable ASCII")
    } else if !word.matches('"').count().is_multiple_of(2) {
        Some("a quote is not closed")
    } else if ranges(word).len() != 1 || word.starts_with(' ') || word.ends_with(' ') {
        Some("is more than one word: quote values that contain spaces")
    } else if word == "--" || key(word).is_empty() {
        Some("has no name")
    } else if key(word).contains(' ') {
        Some("its name has a space")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_none_are_refused() {
        for (add, remove) in [
            ("--", ""),
            ("a=\"b", ""),
            ("=1", ""),
            ("a=\u{e9}", ""),
            ("a=1 a=2", ""),
            ("", "root"),
            ("", "ostree=x"),
            ("\"a b=c\"", ""),
        ] {
            assert!(Change::parse(add, remove).is_err(), "{add} {remove}");
        }
        assert!(Change::new(["a b"], Vec::<String>::new()).is_err());
        let twice = Change::parse("a-b=1 c a_b=\"1\" console=x console=x", "quiet q-1=2 q_1=2 quiet q_1").unwrap();
        assert_eq!(twice, Change::parse("a-b=1 c console=x", "quiet q-1=2 q_1").unwrap());
        let pages = "hugepagesz=2M hugepages=4 hugepagesz=1G hugepages=4";
        assert_eq!(Change::parse(pages, "").unwrap().add.len(), 4);
        assert!(Change::parse("console=tty0 console=ttyS0 x=\"a b\" a=1 a=1", "a quiet").is_ok());
    }
}
