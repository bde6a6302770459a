//! Evaluates expressions of Kconfig files for a configuration (Documentation/kbuild/kconfig-language.rst, "Menu
//! dependencies").

use super::Options;

/// `n` is 0, `m` is 1, `y` is 2. `None` if the value depends on a compiler or shell (`$(…)`), or is not understood.
pub type Tri = Option<u8>;

/// Returns the terms that must all hold: `A && (B || C)` has two.
pub fn terms(expression: &str) -> Vec<String> {
    let (mut depth, mut start, mut all) = (0usize, 0, Vec::new());
    let bytes = expression.as_bytes();
    for at in 0..bytes.len() {
        match bytes[at] {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            // `||` binds more loosely, so the whole expression is one term.
            b'|' if depth == 0 => return vec![expression.trim().to_owned()],
            b'&' if depth == 0 && bytes.get(at + 1) == Some(&b'&') => {
                all.push(expression[start..at].trim().to_owned());
                start = at + 2;
            }
            _ => {}
        }
    }
    all.push(expression[start..].trim().to_owned());
    all.retain(|term| !term.is_empty());
    all
}

pub fn value(expression: &str, options: &Options) -> Tri {
    if expression.contains("$(") {
        return None;
    }
    let mut reader = Reader { tokens: tokens(expression)?, at: 0, options, depth: 0 };
    let value = reader.or();
    if reader.at == reader.tokens.len() { value } else { None }
}

pub fn symbols(expression: &str) -> Vec<String> {
    let all = tokens(expression).unwrap_or_default();
    let is_name =
        |t: &String| t.starts_with(|c: char| c.is_ascii_alphanumeric()) && !matches!(t.as_str(), "y" | "m" | "n");
    all.into_iter().filter(is_name).collect()
}

fn tokens(text: &str) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let two = ["&&", "||", "!=", "<=", ">="].iter().find(|op| rest.starts_with(**op));
        let length = match (two, first) {
            (Some(_), _) => 2,
            (None, '(' | ')' | '!' | '=' | '<' | '>') => 1,
            (None, '"') => rest[1..].find('"')? + 2,
            (None, c) if c.is_ascii_alphanumeric() || "_-.".contains(c) => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c)).unwrap_or(rest.len())
            }
            _ => return None,
        };
        all.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Some(all)
}

struct Reader<'r> {
    tokens: Vec<String>,
    at: usize,
    options: &'r Options,
    depth: usize,
}

const DEEPEST: usize = 64;

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let is = self.tokens.get(self.at).is_some_and(|t| t == token);
        self.at += usize::from(is);
        is
    }

    fn or(&mut self) -> Tri {
        let mut value = self.and();
        while self.takes("||") {
            let other = self.and();
            value = match (value, other) {
                (Some(2), _) | (_, Some(2)) => Some(2),
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            };
        }
        value
    }

    fn and(&mut self) -> Tri {
        let mut value = self.not();
        while self.takes("&&") {
            let other = self.not();
            value = match (value, other) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (Some(a), Some(b)) => Some(a.min(b)),
                _ => None,
            };
        }
        value
    }

    fn not(&mut self) -> Tri {
        self.depth += 1;
        let value = if self.depth > DEEPEST {
            None
        } else if self.takes("!") {
            self.not().map(|v| 2 - v)
        } else if self.takes("(") {
            let value = self.or();
            if self.takes(")") { value } else { None }
        } else {
            self.comparison()
        };
        self.depth -= 1;
        value
    }

    fn comparison(&mut self) -> Tri {
        let left = self.word()?;
        for op in ["!=", "=", "<=", ">=", "<", ">"] {
            if self.takes(op) {
                let right = self.word()?;
                return holds(&left, op, &right).map(|is| if is { 2 } else { 0 });
            }
        }
        Some(match left.as_str() {
            "y" => 2,
            "m" => 1,
            _ => 0,
        })
    }

    fn word(&mut self) -> Option<String> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        if let Some(text) = token.strip_prefix('"') {
            return Some(text.trim_end_matches('"').to_owned());
        }
        let is_constant =
            matches!(token.as_str(), "y" | "m" | "n") || token.parse::<i64>().is_ok() || token.starts_with("0x");
        if is_constant {
            return Some(token);
        }
        let is_name = token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| self.options.get(&token).map_or("n".to_owned(), |v| v.text().trim_matches('"').to_owned()))
    }
}

fn holds(left: &str, op: &str, right: &str) -> Option<bool> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let order = match (number(left), number(right)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => left.cmp(right),
    };
    Some(match op {
        "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        ">=" => order.is_ge(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::of_config;

    #[test]
    fn expressions_have_three_values() {
        let options = of_config("CONFIG_A=y\nCONFIG_M=m\nCONFIG_HZ=250\nCONFIG_S=\"x\"\n");
        let cases = [
            ("A", Some(2)),
            ("M", Some(1)),
            ("B", Some(0)),
            ("!B", Some(2)),
            ("!M", Some(1)),
            ("A && M", Some(1)),
            ("B || M", Some(1)),
            ("A && (B || !B)", Some(2)),
            ("M=m", Some(2)),
            ("M!=n && A", Some(2)),
            ("HZ >= 100", Some(2)),
            ("HZ < 100", Some(0)),
            ("S = \"x\"", Some(2)),
            ("$(cc-option,-x)", None),
            ("A &&", None),
            ("(A", None),
            ("A B", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(value(text, &options), wanted, "{text}");
        }
        assert_eq!(value(&"(".repeat(100_000), &options), None);
        assert_eq!(value(&"!".repeat(100_000), &options), None);
    }

    #[test]
    fn terms_are_split_at_the_top_only() {
        assert_eq!(terms("A && (B && C) && D=y"), ["A", "(B && C)", "D=y"]);
        assert_eq!(terms("A && B || C"), ["A && B || C"]);
        assert_eq!(symbols("A && (B || !C) && y"), ["A", "B", "C"]);
    }
}
