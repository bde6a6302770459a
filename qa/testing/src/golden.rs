//! Compares output with golden files, which contain reviewed output.

use std::path::Path;
use std::{env, fs};

/// Panics if the file does not contain `got`. With `UPDATE_GOLDEN=1` in the environment, writes the file instead. A
/// relative path starts at the package under test, where cargo runs its tests.
#[track_caller]
pub fn golden(path: impl AsRef<Path>, got: &str) {
    let path = path.as_ref();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, got).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_else(|error| format!("{error}\n"));
    if let Some((line, kept, got)) = first_difference(&kept, got) {
        let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
        panic!(
            "{} differs in line {line}\n-{kept:?}\n+{got:?}\nUPDATE_GOLDEN=1 cargo test -p {package} updates it",
            path.display()
        );
    }
}

/// Like [`golden`], for a page: ignores its style sheet and script, which all pages share, and the script's hash.
#[track_caller]
pub fn golden_page(path: impl AsRef<Path>, page: &str) {
    let page = without(page, "sha256-", "'");
    golden(path, &without(&without(&page, "<style>", "</style>"), "<script>", "</script>"));
}

/// Removes the text between the first `from` and the next `to`.
fn without(text: &str, from: &str, to: &str) -> String {
    let Some((before, rest)) = text.split_once(from) else { return text.to_owned() };
    let (_, after) = rest.split_once(to).unwrap_or_default();
    format!("{before}{from}…{to}{after}")
}

/// Returns the number, the stored content and the new content of the first line that differs; `None` if no line does.
/// Lines past the end are empty.
fn first_difference<'a>(kept: &'a str, got: &'a str) -> Option<(usize, &'a str, &'a str)> {
    let (mut kept, mut got) = (kept.split_inclusive('\n'), got.split_inclusive('\n'));
    let lines = (1..).map(|number| (number, kept.next(), got.next()));
    let mut lines = lines.skip_while(|(_, kept, got)| kept.is_some() && kept == got);
    let (number, kept, got) = lines.next().filter(|(_, kept, got)| kept != got)?;
    Some((number, kept.unwrap_or_default(), got.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_is_left_out() {
        assert_eq!(without("a<x>b</x>c", "<x>", "</x>"), "a<x>…</x>c");
        assert_eq!(without("abc", "<x>", "</x>"), "abc");
    }

    #[test]
    fn the_first_line_that_differs_is_found() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\nc\n", "a\nx\nc\n"), Some((2, "b\n", "x\n")));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some((2, "", "b\n")));
        assert_eq!(first_difference("a\nb\n", "a\nb"), Some((2, "b\n", "b")));
    }
}
