//! Suggests similar names for names that do not exist.

use punctual_units::Arrange;

/// Similarity (Jaro–Winkler, 0 to 1) at or above which a name is suggested.
const SIMILAR: f64 = 0.85;
/// Maximum number of suggestions.
const MAX: usize = 3;

/// Returns the names that contain `word` or resemble it, as `; similar: a, b`; empty if there are none.
pub fn similar<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let score = |name: &str| match word.len() > 2 && name.contains(word) {
        true => 1.0,
        false => strsim::jaro_winkler(word, name),
    };
    let mut scored: Vec<(f64, &str)> = names.into_iter().map(|name| (score(name), name)).collect();
    scored.retain(|(score, _)| *score >= SIMILAR);
    scored.arrange_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    let names: Vec<&str> = scored.into_iter().take(MAX).map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!("; similar: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested_best_first() {
        let names = ["cpu-governor", "cpu-idle-states", "irq-affinity", "kernel-preempt-rt"];
        assert_eq!(similar("cpu-governer", names), "; similar: cpu-governor");
        assert_eq!(similar("preempt", names), "; similar: kernel-preempt-rt");
        assert_eq!(similar("zzz", names), "");
    }
}
