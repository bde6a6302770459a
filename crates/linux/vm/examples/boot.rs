//! Boots a kernel and runs a script in it: `cargo run -p punctual-vm --example boot -- rt@6.12 pc 'uname -a'`.

use punctual_vm::{Cache, Clock, Disk, Guest, Kernel, KernelSpec, Machine, VmError, boot};

fn main() -> Result<(), VmError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, machine, script] = &words[..] else {
        return Err(VmError::Usage("KERNEL MACHINE SCRIPT".into()));
    };
    let cache = Cache::usual()?;
    let machine: Machine = machine.parse()?;
    let kernel = Kernel::resolve(&kernel.parse::<KernelSpec>()?, machine.arch(), &cache)?;
    let mut guest = Guest::new(machine, kernel, script.as_str());
    guest.clock = Clock::Virtual { shift: 0 };
    guest.disk = Disk::Memory { mib: 64 };
    guest.fetch = vec!["/tmp/out".into()];
    let done = boot(&guest, &cache, Some(std::path::Path::new("fetched")))?;
    println!("{}exit code {} after {:.1?}", done.console, done.exit_code, done.lasted);
    Ok(())
}
