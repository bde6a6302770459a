//! Kills the emulator at random moments of fix and undo, and tests that after undo in the next boot every byte is as
//! before.

use super::{Bench, boot_of, expect};
use punctual_vm::{DiskGuest, Ending, Kill};
use std::time::{Duration, Instant};

pub fn run(bench: &Bench) -> Result<String, String> {
    let word = &bench.word;
    let guest = bench.guest("kill")?;
    let script = format!(
        "list > /root/before; sync; a=$(date +%s%N); fix {word}; b=$(date +%s%N); undo; c=$(date +%s%N); same || exit 9
         mark \"took $(((b - a) / 1000000)) $(((c - b) / 1000000))\""
    );
    let boots = bench.whole("kill-first", &guest, &[bench.step(&script)])?;
    let [fix, undo] = took(&boot_of(&boots, 1)?.marks)?;
    let mut worst = Vec::new();
    let mut tally = [[0u32; 2]; 2];
    for (side, what, longest) in [(0, "fix", fix), (1, "undo", undo)] {
        for number in 0..bench.kills {
            let name = format!("kill-{what}-{number}");
            // Slightly beyond the end, so that the end itself is hit too.
            let after = longest.mul_f64(1.1 * random());
            match one(bench, &guest, &name, what, after) {
                Ok(was_done) => tally[side][usize::from(was_done)] += 1,
                Err(why) => worst.push(format!("{name} after {after:.3?}: {why}")),
            }
        }
    }
    let [[fix_cut, fix_done], [undo_cut, undo_done]] = tally;
    let figures = format!(
        "{} kills: {fix_cut} within fix ({:.1} s), {fix_done} after it; {undo_cut} within undo ({:.1} s), {undo_done} after it",
        fix_cut + fix_done + undo_cut + undo_done,
        fix.as_secs_f64(),
        undo.as_secs_f64()
    );
    match worst.is_empty() {
        true => {
            Ok(format!("{figures}; each time the next boot succeeded, and after its undo every byte was as before"))
        }
        false => Err(format!("{figures}; {} went wrong:\n{}", worst.len(), worst.join("\n"))),
    }
}

/// Kills the emulator once, and boots the guest again to undo what is left. Returns true if the fix or undo had already
/// finished when it was killed.
fn one(bench: &Bench, guest: &DiskGuest, name: &str, what: &str, after: Duration) -> Result<bool, String> {
    let word = &bench.word;
    let script = match what {
        "fix" => format!("mark go; fix {word}; mark done; sleep 1000"),
        _ => format!("fix {word}; sync; mark go; undo; mark done; sleep 1000"),
    };
    let begun = Instant::now();
    let kill = Kill { mark: "go".into(), after };
    let run = guest.run(&[bench.step(&script)], Some(&kill)).map_err(|e| e.to_string())?;
    bench.keep(name, &run);
    expect(run.ending == Ending::Killed, format!("{:?} after {:?}", run.ending, begun.elapsed()))?;
    let was_done = run.boots.iter().any(|boot| boot.marks.iter().any(|mark| mark == "done"));
    // The leftovers of the kill are listed before undo, for the record.
    let restore =
        "[ -f $own ] && echo 'left: own file'; ls /boot/grub/*.aside* /boot/grub/*.new 2> /dev/null; undo; same";
    bench.whole(&format!("{name}-restore"), guest, &[bench.step(restore)])?;
    Ok(was_done)
}

fn took(marks: &[String]) -> Result<[Duration; 2], String> {
    let line = marks.iter().find_map(|mark| mark.strip_prefix("took ")).ok_or("the first run reported no times")?;
    let mut times = line.split(' ').map(|ms| ms.parse().map(Duration::from_millis));
    match (times.next(), times.next()) {
        (Some(Ok(fix)), Some(Ok(undo))) => Ok([fix, undo]),
        _ => Err(format!("`{line}` is not a pair of times")),
    }
}

fn random() -> f64 {
    let mut bytes = [0u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(_) => f64::from(u32::from_ne_bytes(bytes)) / 4_294_967_296.0,
        Err(_) => 0.5,
    }
}
