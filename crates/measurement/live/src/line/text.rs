use punctual_units::Nanos;

/// Content of the line. Unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Number of the phase (from 1), number of phases, and load as named by the user; `None` before the first phase and
    /// after the last one.
    pub phase: Option<(usize, usize, String)>,
    pub doing: String,
    pub phase_left: Option<Nanos>,
    pub run_left: Left,
    /// Duration of the current activity so far; displayed if the remaining time is unknown.
    pub since: Nanos,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Left {
    #[default]
    Unknown,
    About(Nanos),
    /// The phase ends when the claims are decided, at the latest after this time.
    AtMost(Nanos),
}

/// Number of columns left empty at the end of the line: one for the cursor, two for the `^C` that the terminal echoes
/// (termios(3), ECHOCTL).
const SPARE: usize = 3;
/// Maximum number of columns for a load's name, which may be a long command.
const NAME: usize = 24;

/// Returns the longest form that fits into `width` columns. If none fits, the shortest is truncated, so that the line
/// never wraps.
pub fn text(status: &Status, width: usize) -> String {
    let room = width.saturating_sub(SPARE);
    let forms = forms(status);
    let fits = forms.iter().find(|form| columns(form) <= room);
    cut(fits.or(forms.last()).map_or("", String::as_str), room)
}

/// Returns all forms of the text, longest first.
fn forms(status: &Status) -> [String; 4] {
    let (place, name) = match &status.phase {
        Some((number, of, load)) => (format!("[{number}/{of}]"), shortened(load)),
        None => (String::new(), String::new()),
    };
    let colon = if name.is_empty() { "" } else { ":" };
    let joined =
        |head: &str, tail: &str| format!("{place} {name}{colon} {head}{tail}").trim_start_matches([' ', ':']).into();
    let (phase, run) = (status.phase_left.map(time), in_words(status.run_left));
    let long = match (&phase, &run) {
        (Some(phase), Some(run)) => format!(", {phase} of this phase and {run} of the run left"),
        (Some(phase), None) => format!(", {phase} of this phase left"),
        (None, Some(run)) => format!(", {run} of the run left"),
        (None, None) if status.since >= Nanos::from_secs(1) => format!(", for {}", whole(status.since.0 / SECOND)),
        (None, None) => String::new(),
    };
    let short = match (&phase, &run) {
        (Some(phase), Some(run)) => format!(", {phase} / {run} left"),
        (Some(left), None) | (None, Some(left)) => format!(", {left} left"),
        (None, None) => long.clone(),
    };
    let least = phase.or(run).map_or(status.doing.clone(), |left| format!("{left} left"));
    [
        joined(&status.doing, &long),
        joined(&status.doing, &short),
        joined(&least, ""),
        format!("{place} {least}").trim().into(),
    ]
}

fn in_words(left: Left) -> Option<String> {
    match left {
        Left::Unknown => None,
        Left::About(left) => Some(time(left)),
        Left::AtMost(left) => Some(format!("at most {}", time(left))),
    }
}

const SECOND: u64 = 1_000_000_000;

/// Formats the remaining time in whole seconds, rounded up, so that 0 s appears only at the end.
fn time(left: Nanos) -> String {
    whole(left.0.div_ceil(SECOND))
}

fn whole(seconds: u64) -> String {
    let days = if seconds < 2 * 86_400 { "day" } else { "days" };
    let (large, unit, small, rest) = match seconds {
        0..60 => return format!("{seconds} s"),
        60..3_600 => (seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => (seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => (seconds / 86_400, days, seconds % 86_400 / 3_600, "h"),
    };
    match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {rest}"),
    }
}

/// Removes control characters from a load's name and shortens it.
fn shortened(name: &str) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match columns(&clean) <= NAME {
        true => clean,
        false => cut(&clean, NAME - 3) + "...",
    }
}

/// Returns an upper bound of the displayed width in columns: a character outside ASCII may occupy two.
fn columns(text: &str) -> usize {
    text.chars().map(wide).sum()
}

fn wide(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

fn cut(text: &str, room: usize) -> String {
    let mut taken = 0;
    text.chars()
        .take_while(|&c| {
            taken += wide(c);
            taken <= room
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn status(phase_left: Option<u64>, run_left: Left) -> Status {
        Status {
            phase: Some((2, 8, "cpu".into())),
            doing: "measuring".into(),
            phase_left: phase_left.map(Nanos::from_secs),
            run_left,
            since: Nanos::ZERO,
        }
    }

    fn about(seconds: u64) -> Left {
        Left::About(Nanos::from_secs(seconds))
    }

    #[test]
    fn the_longest_form_that_fits_is_taken() {
        let status = status(Some(6), about(62));
        let at = |width| text(&status, width);
        assert_eq!(at(80), "[2/8] cpu: measuring, 6 s of this phase and 1 min 2 s of the run left");
        assert_eq!(at(72), at(80));
        assert_eq!(at(71), "[2/8] cpu: measuring, 6 s / 1 min 2 s left");
        assert_eq!(at(40), "[2/8] cpu: 6 s left");
        assert_eq!(at(18), "[2/8] 6 s left");
        assert_eq!(at(10), "[2/8] 6");
    }

    #[test]
    fn without_room_there_is_nothing() {
        for width in 0..=SPARE {
            assert_eq!(text(&status(Some(6), about(62)), width), "");
        }
    }

    #[test]
    fn time_left_may_be_unknown_or_a_bound() {
        assert_eq!(text(&status(Some(6), Left::Unknown), 80), "[2/8] cpu: measuring, 6 s of this phase left");
        let most = Left::AtMost(Nanos::from_secs(43_200));
        assert_eq!(
            text(&status(Some(6), most), 80),
            "[2/8] cpu: measuring, 6 s of this phase and at most 12 h of the run left"
        );
        assert_eq!(text(&status(None, about(7)), 80), "[2/8] cpu: measuring, 7 s of the run left");
        assert_eq!(text(&status(None, Left::Unknown), 80), "[2/8] cpu: measuring");
    }

    #[test]
    fn outside_the_phases_the_time_taken_is_shown() {
        let mut status = Status { doing: "judging the claims".into(), ..Status::default() };
        assert_eq!(text(&status, 80), "judging the claims");
        status.since = Nanos::from_millis(3_900);
        assert_eq!(text(&status, 80), "judging the claims, for 3 s");
        assert_eq!(text(&status, 20), "judging the claim");
    }

    #[test]
    fn times_have_two_units_and_are_rounded_up() {
        let of = |ms| time(Nanos::from_millis(ms));
        assert_eq!([0, 1, 59_001, 61_000, 3_600_000].map(of), ["0 s", "1 s", "1 min", "1 min 1 s", "1 h"]);
        assert_eq!(of(86_399_000), "23 h 59 min");
        assert_eq!(of(93_600_000), "1 day 2 h");
        assert_eq!(of(30 * 86_400_000), "30 days");
        assert_eq!(time(Nanos(u64::MAX)), "213503 days 23 h");
    }

    #[test]
    fn a_command_is_shortened_and_cannot_move_the_cursor() {
        let mut status = status(Some(6), Left::Unknown);
        status.phase = Some((1, 1, "cmd:printf '\x1b[2J\n' && make -j4 all".into()));
        let text = text(&status, 80);
        assert!(text.starts_with("[1/1] cmd:printf ' [2J ' &&...: measuring"), "{text}");
    }

    proptest! {
        #[test]
        fn it_never_wraps(load in ".{0,60}", doing in "[a-z ]{0,40}", phase in proptest::option::of(0..u64::MAX),
                          run in 0..u64::MAX, width in 0usize..200) {
            let run_left = if run % 2 == 0 { Left::About(Nanos(run)) } else { Left::AtMost(Nanos(run)) };
            let phase_left = phase.map(Nanos);
            let status = Status { phase: Some((1, 2, load)), doing, phase_left, run_left, since: Nanos::ZERO };
            let text = text(&status, width);
            prop_assert!(columns(&text) <= width.saturating_sub(SPARE));
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
