//! The smallest possible task, for `cargo trials bench cycle`: an empty body every 20 ms. Execution times are measured
//! unless the argument is `lean`.

use punctual_rt::{Nanos, Next, Rt, Scheduling};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Rt::builder().start()?;
    let mut task = rt.periodic("stepped", Scheduling::Other { nice: 0 }, Nanos::from_millis(20)).cycles(3_000);
    if std::env::args().nth(1).is_some_and(|word| word == "lean") {
        task = task.without_execution();
    }
    task.spawn(|_| Next::Continue)?.join();
    Ok(())
}
