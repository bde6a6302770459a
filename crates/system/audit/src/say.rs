//! Fills in sentences that contain names in braces.

/// Names that every sentence may use in addition to the rule's reads.
pub(crate) const CONTEXT: &[&str] = &["scheduling", "cpus", "profile"];

/// Returns the names in a sentence; `None` if a brace is not closed.
pub(crate) fn names(sentence: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = sentence;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}')?;
        names.push(name);
        rest = tail;
    }
    Some(names)
}

/// Replaces every name by its `value`. Braces in values are not expanded.
pub(crate) fn fill(sentence: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut filled = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}').unwrap_or((after, ""));
        filled.push_str(before);
        filled.push_str(&value(name));
        rest = tail;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_once() {
        assert_eq!(fill("a {x} b {y}", |name| format!("<{name}{{z}}>")), "a <x{z}> b <y{z}>");
        assert_eq!(names("a {x} b {y}"), Some(vec!["x", "y"]));
        assert_eq!(names("a {x"), None);
    }
}
