//! A parameter made permanent is in the next boot; taken back, every byte is as before, and so is the boot after it.

use super::{Bench, boot_of, expect, step};

const WORD: &str = "skew_tick=1";

pub fn run(bench: &Bench) -> Result<String, String> {
    let guest = bench.guest("keep")?;
    let steps = [
        step(&format!(
            "list > /root/before; wc -l < /root/before; cp {0} /root/menu; fix {WORD}",
            "/boot/grub/grub.cfg"
        )),
        // A menu made anew of the old files is the old menu: that is what makes update-grub its own inverse.
        step("undo; same && update-grub 2> /dev/null && cmp /root/menu /boot/grub/grub.cfg && same"),
        step("same"),
    ];
    let boots = bench.whole("keep", &guest, &steps)?;
    let (first, second, third) = (boot_of(&boots, 1)?, boot_of(&boots, 2)?, boot_of(&boots, 3)?);
    expect(!first.has(WORD), "the parameter was there before")?;
    expect(second.has(WORD), format!("{WORD} is not in {:?}", second.command_line))?;
    expect(!third.has(WORD), format!("{WORD} is still in {:?}", third.command_line))?;
    expect(first.command_line == third.command_line, "the parameters are not those of the first boot")?;
    Ok(format!(
        "{WORD} came with the fix and went with undo; /etc and /boot byte for byte as before; {} boots",
        boots.len()
    ))
}
