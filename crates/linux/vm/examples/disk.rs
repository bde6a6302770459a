//! Boots a guest from its own disk and runs scripts, one boot each: `cargo run -p punctual-vm --example disk -- 'update-grub' 'cat /proc/cmdline'`.

use punctual_vm::{Cache, DiskGuest, DiskImage, Step, VmError};

fn main() -> Result<(), VmError> {
    let image = DiskImage::debian(&Cache::usual()?)?;
    println!("{} {} MB, made in {:?}", image.path().display(), image.bytes()? / 1_000_000, image.made_in);
    let folder = std::env::temp_dir().join(format!("punctual-disk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| VmError::Usage(format!("{}: {e}", folder.display())))?;
    let steps: Vec<Step> = std::env::args().skip(1).map(Step::new).collect();
    let run = DiskGuest::new(&image, &folder)?.run(&steps, None)?;
    for boot in &run.boots {
        println!("step {:?} code {:?} {:?} {:?}", boot.step, boot.exit_code, boot.release, boot.command_line);
        println!("{}", boot.console().chars().rev().take(1500).collect::<String>().chars().rev().collect::<String>());
    }
    println!("{:?} after {:.1?}, in {}", run.ending, run.lasted, folder.display());
    Ok(())
}
