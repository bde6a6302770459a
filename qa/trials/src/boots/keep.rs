//! Tests that a parameter made permanent is present in the next boot, and that after undo every byte and the next boot
//! are as before.

use super::{Bench, boot_of, expect};

pub fn run(bench: &Bench) -> Result<String, String> {
    let word = bench.word.as_str();
    let guest = bench.guest("keep")?;
    let steps = [
        bench.step(&format!(
            "list > /root/before; wc -l < /root/before; cp {0} /root/menu; fix {word}",
            "/boot/grub/grub.cfg"
        )),
        // A menu regenerated from the old files equals the old menu: update-grub is its own inverse.
        bench.step("undo; same && update-grub 2> /dev/null && cmp /root/menu /boot/grub/grub.cfg && same"),
        bench.step("same"),
    ];
    let boots = bench.whole("keep", &guest, &steps)?;
    let (first, second, third) = (boot_of(&boots, 1)?, boot_of(&boots, 2)?, boot_of(&boots, 3)?);
    expect(!first.has(word), "the parameter was there before")?;
    expect(second.has(word), format!("{word} is not in {:?}", second.command_line))?;
    expect(!third.has(word), format!("{word} is still in {:?}", third.command_line))?;
    expect(first.command_line == third.command_line, "the parameters are not those of the first boot")?;
    Ok(format!(
        "{word} was added by the fix and removed by undo; /etc and /boot byte for byte as before; {} boots",
        boots.len()
    ))
}
