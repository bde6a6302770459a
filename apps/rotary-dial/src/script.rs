use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Digit(u8),
    /// Hang up and lift the handset again: `h`.
    HangUp,
    /// Wait for a second: `,`.
    Pause,
}

/// A sequence of actions: `421`, `42h420`, `42,,,,1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be dialled: write digits, `h` to hang up and lift again, `,` for a pause of one second (421, 42h420)"
)]
pub struct NoScript(String);

impl Script {
    /// Creates a script from digits, each 0 to 9.
    pub fn of_digits(digits: &[u8]) -> Script {
        Script(digits.iter().map(|digit| Step::Digit(*digit)).collect())
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl FromStr for Script {
    type Err = NoScript;

    fn from_str(text: &str) -> Result<Script, NoScript> {
        let step = |c: char| match c {
            'h' | 'H' => Some(Step::HangUp),
            ',' => Some(Step::Pause),
            _ => c.to_digit(10).map(|digit| Step::Digit(digit as u8)),
        };
        let steps: Option<Vec<Step>> = text.chars().map(step).collect();
        steps.filter(|steps| !steps.is_empty()).map(Script).ok_or_else(|| NoScript(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read() {
        let script: Script = "4h,0".parse().unwrap();
        assert_eq!(script.steps(), [Step::Digit(4), Step::HangUp, Step::Pause, Step::Digit(0)]);
        for bad in ["", "42x", "4 2"] {
            assert!(bad.parse::<Script>().unwrap_err().to_string().contains("42h420"));
        }
    }
}
