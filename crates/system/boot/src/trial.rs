use crate::{Change, words};

/// Parameter that marks a trial boot. The kernel takes a name with a dot for a module parameter and ignores it silently
/// (init/main.c, unknown_bootoption).
pub const TRIAL_PARAMETER: &str = "punctual.trial";

/// Returns a word that identifies the change. Only the command line of its trial boot contains it.
pub fn trial_word(change: &Change) -> String {
    let change = &change.clone().once();
    // FNV-1a, because its result must be the same in all versions of the program.
    let all = change.add.iter().flat_map(|word| ["+", word]).chain(change.remove.iter().flat_map(|word| ["-", word]));
    let bytes = all.flat_map(|part| part.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{TRIAL_PARAMETER}={hash:016x}")
}

/// Adds the trial's word, and a reset some seconds after a panic (Documentation/admin-guide/kernel-parameters.txt,
/// `panic`).
pub(crate) fn as_trial(change: &Change) -> Change {
    let mut trial = change.clone();
    if !trial.add.iter().any(|word| words::key(word) == "panic") {
        trial.remove.retain(|pattern| words::key(pattern) != "panic");
        trial.add.push("panic=10".to_owned());
    }
    trial.add.push(trial_word(change));
    trial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_a_word_of_its_own() {
        let word = |add: &str, remove: &str| trial_word(&Change::parse(add, remove).unwrap());
        let all = [word("a=1", ""), word("", "a=1"), word("a=1 b", ""), word("a", ""), word("", "a b"), word("b", "a")];
        assert!(all.iter().enumerate().all(|(n, one)| !all[..n].contains(one)), "{all:?}");
        assert_eq!(word("quiet", ""), word("quiet", ""));
        let trial = as_trial(&Change::parse("panic=3", "quiet").unwrap());
        assert_eq!((trial.add.len(), trial.add[0].as_str()), (2, "panic=3"));
    }
}
