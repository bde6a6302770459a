use punctual_rt::{Check, Miss, Nanos, Next, Rt, Scheduling};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    punctual_rt::block_signals()?; // before the first thread, so that Ctrl-C ends the program in order
    let rt = Rt::builder().lock_memory().require(Check::Priority(80)).warn(Check::PreemptRt).start()?;
    let scheduling = Scheduling::Fifo { priority: 80.try_into()? };
    let mut position = 0.0_f64;
    let task = rt.periodic("control", scheduling, Nanos::from_millis(1)).on_miss(Miss::Skip).spawn(move |cycle| {
        position += 0.001 * (1 + cycle.skipped) as f64; // the control step: nothing allocated, locked or printed
        if position > 3_600.0 { Next::Stop } else { Next::Continue }
    })?;
    eprintln!("running; Ctrl-C ends it");
    rt.until_signal();
    println!("{}", task.stats());
    Ok(())
}
