//! Parses a line with a known format step by step.

/// The remaining part of the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a>(pub &'a str);

impl<'a> Scan<'a> {
    /// Skips white space, then `text`.
    pub fn skip(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(text)?;
        Some(())
    }

    /// Parses an integer after white space.
    pub fn int(&mut self) -> Option<i64> {
        let text = self.0.trim_start();
        let sign = usize::from(text.starts_with('-'));
        let digits = text.get(sign..)?.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at_checked(sign.checked_add(digits)?)?;
        self.0 = rest;
        number.parse().ok()
    }

    /// Parses a non-negative integer.
    pub fn whole(&mut self) -> Option<u64> {
        u64::try_from(self.int()?).ok()
    }

    pub fn end(self) -> Option<()> {
        self.0.trim().is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_stepped_through() {
        let mut scan = Scan("T: 0 (-7) x");
        assert_eq!(
            (scan.skip("T:"), scan.whole(), scan.skip("("), scan.int()),
            (Some(()), Some(0), Some(()), Some(-7))
        );
        assert_eq!((scan.skip(")"), scan.end(), scan.int(), scan.0), (Some(()), None, None, "x"));
        assert_eq!(Scan("99999999999999999999").int(), None);
        assert_eq!(Scan("-").int(), None);
        assert_eq!(Scan("-3").whole(), None);
    }
}
