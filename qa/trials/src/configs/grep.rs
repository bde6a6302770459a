//! Finds lines of a configuration as grep(1) would. Shares no code with the audit that it checks.

pub struct Grep<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Grep<'t> {
    pub fn new(text: &'t str) -> Grep<'t> {
        Grep { lines: text.split('\n').collect() }
    }

    /// Returns the value in a line that matches `^CONFIG_X=`, without quotes.
    pub fn value(&self, option: &str) -> Option<&'t str> {
        let begin = format!("CONFIG_{option}=");
        self.lines.iter().find_map(|line| line.strip_prefix(begin.as_str())).map(|value| value.trim_matches('"'))
    }

    /// Returns the version in a line such as `# Linux/x86 6.12.9 Kernel Configuration`.
    pub fn version(&self) -> Option<(u32, u32)> {
        let title = self.lines.iter().find(|line| line.starts_with("# Linux/") && line.ends_with(" Configuration"))?;
        let mut numbers = title.split(' ').nth(2)?.split(['.', '-']);
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// Returns true if a line matches `^CONFIG_X=y$`.
    pub fn is(&self, option: &str) -> bool {
        let wanted = format!("CONFIG_{option}=y");
        self.lines.contains(&wanted.as_str())
    }

    /// Returns true if a line matches `^CONFIG_X=[ym]$` for any of the options.
    pub fn any(&self, options: &[&str]) -> bool {
        options.iter().any(|option| matches!(self.value(option), Some("y" | "m")))
    }

    /// Compares evidence such as `FILE CONFIG_HZ: 250`, `FILE CONFIG_X: not set` or `FILE: on of A B C: A` with the
    /// lines. Returns the number of options in it, and a message for each that is wrong.
    pub fn contradictions(&self, source: &str, said: &str) -> (u32, Vec<String>) {
        if let Some((_, option)) = source.rsplit_once(" CONFIG_") {
            let found = self.value(option).unwrap_or("not set");
            let is_same = found == said;
            return (
                1,
                if is_same {
                    vec![]
                } else {
                    vec![format!("CONFIG_{option} is {found}, but the finding reports {said}")]
                },
            );
        }
        let Some((asked, shown)) = said.strip_prefix("on of ").and_then(|rest| rest.split_once(": ")) else {
            return (0, vec![]);
        };
        // Long evidence is truncated.
        if shown.contains('…') || shown.contains(" more") || asked.contains('…') {
            return (0, vec![]);
        }
        let shown: Vec<&str> = shown.split(", ").collect();
        let options: Vec<&str> = asked.split(' ').collect();
        let is_wrong = |option: &&&str| self.any(&[option]) != shown.contains(option);
        let wrong =
            options.iter().filter(is_wrong).map(|option| format!("CONFIG_{option} is {:?}", self.value(option)));
        (u32::try_from(options.len()).unwrap_or(u32::MAX), wrong.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_and_evidence_compared() {
        let grep = Grep::new("CONFIG_HZ=250\n# CONFIG_B is not set\nCONFIG_C=m\nCONFIG_S=\"x\"\n");
        assert_eq!((grep.value("HZ"), grep.value("B"), grep.value("S")), (Some("250"), None, Some("x")));
        assert!(grep.any(&["B", "C"]) && !grep.is("C"));
        assert_eq!(grep.version(), None);
        assert_eq!(Grep::new("#\n# Linux/x86 6.12.9 Kernel Configuration\n").version(), Some((6, 12)));
        assert_eq!(grep.contradictions("f CONFIG_HZ", "250"), (1, vec![]));
        assert_eq!(grep.contradictions("f CONFIG_B", "y").1.len(), 1);
        assert_eq!(grep.contradictions("f", "on of B C: C"), (2, vec![]));
        assert_eq!(grep.contradictions("f", "on of B C: none").1.len(), 1);
        assert_eq!(grep.contradictions("/proc/cmdline", "of a: none"), (0, vec![]));
    }
}
