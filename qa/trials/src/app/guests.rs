//! Runs the programs in guests in virtual time.

use super::{Job, PROGRAMS, Wanted};
use crate::guests;
use punctual_vm::{Arch, Clock, Guest, Machine, shift_of_mips};
use std::fs;
use std::time::Duration;

/// Number of runs in one guest.
const IN_GUEST: usize = 9;

/// Runs all jobs. The results of each are in the folder `results/NAME`.
pub fn measured(wanted: &Wanted, kernel: &str, jobs: &[&Job]) -> Result<(), String> {
    let results = wanted.out.join("results");
    let _ = fs::remove_dir_all(&results);
    fs::create_dir_all(&results).map_err(|e| format!("{}: {e}", results.display()))?;
    for (number, group) in jobs.chunks(IN_GUEST).enumerate() {
        let (kernel, cache) = guests::kernel(kernel, Arch::Amd64)?;
        let script: String = group.iter().map(|job| lines(job, &wanted.duration)).collect();
        let mut guest = Guest::new(Machine::Pc, kernel, format!("mkdir /results /var/tmp; {script}"));
        guest.cpus = wanted.cpus;
        guest.clock = Clock::Virtual { shift: shift_of_mips(500.0).map_err(|e| e.to_string())? };
        guest.memory_mib = 1024;
        guest.limit = Duration::from_secs(3600);
        guest.files = vec![guests::program(&wanted.punctual, "/bin/punctual")?];
        for (name, _) in PROGRAMS {
            guest.files.push(guests::program(&wanted.out.join(name), &format!("/bin/{name}"))?);
        }
        guest.fetch.push("/results".into());
        let place = wanted.out.join(format!("guest-{number}"));
        guest.log = Some(place.with_extension("console"));
        guests::try_boot(&guest, &cache, &place)?;
        for result in fs::read_dir(place.join("results")).map_err(|e| e.to_string())?.flatten() {
            fs::rename(result.path(), results.join(result.file_name())).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// Returns the lines of the script that run a job.
fn lines(Job { name, program, claim }: &Job, duration: &str) -> String {
    let place = format!("/results/{name}");
    format!(
        "mkdir -p {place}/run; punctual prove --quiet --load idle --duration {duration} --app '/bin/{program} {place}/log' \
         --claim '{claim}' --out /tmp/run > /dev/null 2> {place}/err; echo {name}: $?; \
         cp /tmp/run/run.json /tmp/run/application.json {place}/run; rm -rf /tmp/run\n"
    )
}
