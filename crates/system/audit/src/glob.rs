pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

pub(crate) fn folder_of(path: &str) -> String {
    match path.rfind('/') {
        Some(0) | None => "/".to_owned(),
        Some(at) => path[..at].to_owned(),
    }
}

/// Returns a pattern and the folders that must be listed to expand it.
pub(crate) fn with_listed_folders(pattern: &str) -> Vec<String> {
    let mut found = vec![pattern.to_owned()];
    let stars = pattern.match_indices('*').map(|(at, _)| folder_of(&pattern[..=at]));
    found.extend(stars);
    found
}

pub(crate) fn folders_above(path: &str) -> Vec<String> {
    let mut folders = vec![folder_of(path)];
    while let Some(last) = folders.last().filter(|folder| *folder != "/") {
        folders.push(folder_of(last));
    }
    folders
}

pub(crate) fn any_process(path: &str) -> String {
    path.replace("{pid}", "*").replace('@', "*").replace("{release}", "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, is) in [
            ("vmlinuz-*-rt*", "vmlinuz-6.12-rt-amd64", true),
            ("vmlinuz-*-rt*", "vmlinuz-6.12-amd64", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("rcuo*", "rcuop/1", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
        ] {
            assert_eq!(fits(pattern, name), is, "{pattern} {name}");
        }
        assert_eq!(folder_of("/dev/watchdog"), "/dev");
        assert_eq!(folder_of("/x"), "/");
    }

    proptest! {
        #[test]
        fn any_texts_are_answered(pattern in ".{0,20}", name in ".{0,20}") {
            let _ = fits(&pattern, &name);
            prop_assert!(fits("*", &name));
            prop_assert!(name.contains('*') || fits(&name, &name));
        }
    }
}
