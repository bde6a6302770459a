use crate::config::{Config, PIPE};
use crate::error::Error;
use crate::exchange::{Exchange, ExchangeLine};
use crate::lines::{self, Player};
use crate::options::{Asked, HELP, Options, parse};
use crate::running::Running;
use crate::start::{self, Started};
use crate::survey;
use crate::train::Timing;
use crate::trial::PERIOD;
use punctual_rt::{Line, Miss, Overflow, block_signals, pipe_out, queue};
use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use punctual_units::Nanos;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Capacity of the queue for commands between the loop and the FIFO, which holds another 64 KiB.
const COMMANDS: usize = 64;
/// Capacity of the queue for events to be printed: some minutes of dialling.
const EVENTS: usize = 1024;
const LOOK: Nanos = Nanos::from_millis(50);

/// Runs the program and returns its exit code: 0 after an orderly end, 2 if the command line must be changed, 4 if the
/// machine must be changed. Prints to standard output, errors to standard error.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let result = parse(words).map_err(Error::from).and_then(|asked| match asked {
        Asked::Help => print(HELP),
        Asked::Version => print(&format!("rotary-dial {}\n", env!("CARGO_PKG_VERSION"))),
        Asked::Survey => print(&survey::table()),
        Asked::Run(options) => decode(&options),
    });
    match result {
        Ok(()) => 0,
        Err(error) => {
            complain(&error);
            error.exit_code()
        }
    }
}

/// Prints to standard output. Errors are ignored, since the reader may have exited.
fn print(text: &str) -> Result<(), Error> {
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(())
}

fn decode(options: &Options) -> Result<(), Error> {
    let config = Config::of(options)?;
    lines::check(&config, options)?;
    options.out.as_deref().map_or(Ok(()), free)?;
    block_signals().and_then(|()| uapi::block(&SignalSet::new(&[Sig::Usr1]))).map_err(Error::Signals)?;
    let started = start::start(config.priority, options.allow_ordinary)?;
    if !options.quiet {
        eprint!("{}", started.rt.report());
    }
    started.narrowed.iter().for_each(|narrowed| complain(narrowed));
    let (mut running, players) = begin(&config, options, started)?;
    let outcome = attend(&mut running, options, players);
    running.end()?;
    outcome
}

fn begin(config: &Config, options: &Options, started: Started) -> Result<(Running, Vec<Player>), Error> {
    folder(&config.pipe)?;
    let (commands, bridge) = pipe_out::<Line, COMMANDS>(config.pipe.as_str(), Overflow::DropNewest)?;
    let (mut opened, mut contacts, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for line in &config.lines {
        let open = lines::open(line)?;
        let line = ExchangeLine::new(open.input, line.map, line.book.clone(), Timing::default(), config.pause);
        counts.push(line.counts());
        contacts.push(open.contact);
        opened.push(line);
    }
    let (sender, events) = queue(EVENTS, Overflow::DropNewest)?;
    let mut exchange = Exchange::new(opened, commands, sender);
    let failure = exchange.failure();
    let Started { rt, scheduling, narrowed } = started;
    let task = rt.periodic("dial", scheduling, PERIOD).on_miss(Miss::Skip);
    let task = match config.cpu {
        Some(cpu) => task.cpu(cpu),
        None => task,
    };
    let task = task.spawn(move |_| exchange.cycle())?;
    let players = lines::play(config, options, scheduling, contacts)?;
    if !players.is_empty() && !options.quiet {
        complain(&format_args!("plays {}", lines::describe(&options.dial)));
    }
    Ok((Running::new(config, options, narrowed, task, bridge, events, counts, failure), players))
}

/// Checks that the folder is empty. Called before the run, since writing would otherwise fail at the end.
fn free(folder: &Path) -> Result<(), Error> {
    match std::fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Error::Run(format!("{} is not empty", folder.display()))),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::Run(format!("opendir({}): {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Creates the folder of the default pipe. Under systemd, RuntimeDirectory= creates it.
fn folder(pipe: &str) -> Result<(), Error> {
    let Some(folder) = Path::new(PIPE).parent().filter(|_| pipe == PIPE) else { return Ok(()) };
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::Folder { path: folder.into(), source: error })
        }
        _ => Ok(()),
    }
}

/// Runs until a signal arrives, the time limit passes, all players have ended, or something fails.
fn attend(running: &mut Running, options: &Options, mut players: Vec<Player>) -> Result<(), Error> {
    let set = SignalSet::new(&[Sig::Int, Sig::Term, Sig::Hup, Sig::Usr1]);
    let (plays, give_up) =
        (!players.is_empty(), options.duration.map(|time| Nanos(punctual_rt::monotonic().0.saturating_add(time.0))));
    loop {
        let waited = uapi::wait(&set, Some(LOOK));
        running.print_events();
        match waited {
            Waited::Signal(Sig::Usr1) => running.report(),
            Waited::Signal(_) => return Ok(()),
            Waited::TimedOut => {}
        }
        running.healthy()?;
        for player in players.extract_if(.., |player| player.thread.is_finished()) {
            let failed = |source| Error::Line { name: player.name, source };
            player.thread.join().map_err(|_| Error::Ended("a player panicked".into()))?.map_err(failed)?;
        }
        let over = give_up.is_some_and(|at| punctual_rt::monotonic() >= at);
        if over || (plays && players.is_empty()) {
            return Ok(());
        }
    }
}

/// Writes to standard error. Errors are ignored: the program must not end because its terminal was closed.
fn complain(what: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "rotary-dial: {what}");
}
