//! Kernel parameters of TuneD. Its boot loader plug-in writes them to GRUB's variable `tuned_params` whenever a profile
//! is applied (tuned/plugins/plugin_bootloader.py), so that they are only read and never edited.

use crate::Change;
use crate::plan::Refusal;
use crate::words::{is_cumulative, is_same, key, means, words};

pub(crate) const NAME: &str = "tuned_params";
pub(crate) const VARIABLE: &str = "$tuned_params";

/// Returns the value that a menu sets: `set tuned_params="…"`.
pub(crate) fn of_menu(menu: &str) -> Option<String> {
    let set =
        |line: &str| line.trim().strip_prefix("set ")?.trim_start().strip_prefix("tuned_params=").map(str::to_owned);
    menu.lines().find_map(set).map(|value| value.trim_matches('"').to_owned())
}

/// Returns the change without the words that TuneD already sets.
///
/// # Errors
/// The change removes a word that TuneD sets, or gives it another value.
pub(crate) fn besides(change: &Change, value: &str, place: &str) -> Result<Change, Refusal> {
    let theirs = words(value);
    let removed = theirs.iter().find(|word| change.remove.iter().any(|pattern| means(pattern, word)));
    let replaced = || {
        let other = |word: &&String| {
            let is_same_name = |new: &&String| !is_cumulative(new) && key(new) == key(word);
            change.add.iter().filter(is_same_name).any(|new| !is_same(new, word))
        };
        theirs.iter().find(other)
    };
    if let Some(word) = removed.or_else(replaced) {
        let why = format!(
            "`{word}` is in {NAME} of {place}, which TuneD rewrites whenever a profile is applied: an edit would be lost"
        );
        let hand = "change the profile (its section [bootloader], or its variables in /etc/tuned), then run `tuned-adm profile NAME` and reboot";
        return Err(Refusal::by_hand(why, hand));
    }
    let is_new = |word: &&String| !theirs.iter().any(|other| is_same(other, word));
    Ok(Change { add: change.add.iter().filter(is_new).cloned().collect(), remove: change.remove.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_tuned_are_not_edited() {
        let besides = |add: &str, remove: &str| {
            besides(&Change::parse(add, remove).unwrap(), "nohz_full=2-7 skew_tick=1", "grubenv")
                .map(|c| (c.add, c.remove))
        };
        assert!(besides("", "nohz_full").unwrap_err().why.contains("`nohz_full=2-7` is in tuned_params"));
        assert!(besides("nohz-full=3", "").is_err());
        assert_eq!(besides("skew_tick=1 threadirqs", "quiet"), Ok((vec!["threadirqs".into()], vec!["quiet".into()])));
    }

    #[test]
    fn a_menu_sets_the_variable() {
        assert_eq!(of_menu("x\n  set tuned_params=\"a=1 b\"\n"), Some("a=1 b".to_owned()));
        assert_eq!(of_menu("linux /v $tuned_params\n"), None);
    }
}
