//! A web server benchmark: images are sent by HTTP POST and stored, while another load may run and is also measured.

mod beside;
mod client;
mod kernel;

use crate::axis::{Axis, Ended, Measured, Turn};
use crate::clock::{cpu_time, now};
use crate::error::BenchError;
use beside::Company;
use client::{Client, Sent};
use kernel::Counters;
use punctual_loads::{DEFAULT_PORT, LoadError, Secret, Server, Store, StoreLimits};
use punctual_model::{BenchPlan, BenchSettings, Beside, NetworkSettings};
use punctual_units::Nanos;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

const MIB: u64 = 1 << 20;
const SERVER: &str = "start `punctual serve --store DIR` on the other machine, and give the address of that machine with --to HOST[:PORT]";

/// Plans the benchmark.
///
/// # Errors
/// [`BenchError`] if the sizes are impossible, the directory cannot be used, or the server does not answer.
pub fn plan(settings: NetworkSettings, repetitions: u64) -> Result<BenchPlan, BenchError> {
    let mut settings = settings;
    if let Some(folder) = &settings.folder {
        let on = folder.display().to_string();
        let absolute = std::path::absolute(folder);
        settings.folder = Some(absolute.map_err(BenchError::io("name", on, "choose a directory with --store DIR"))?);
    }
    let mut network = Network::new(&settings)?;
    let mut notes = Vec::new();
    let mut not_measured = Vec::new();
    match &settings.to {
        None => {
            notes.push(
                "client and server both run on this machine: the CPU time includes both, and no network interface is used".into(),
            );
            not_measured
                .push("a network interface, its driver and its interrupts: use --to with another machine".into());
        }
        Some(to) => {
            network.probe()?;
            notes.push(format!("the images are stored by {to}; CPU time and interrupts were measured on this machine"));
        }
    }
    if let Some(folder) = &settings.folder {
        let on = punctual_loads::storage(folder).unwrap_or_else(|what| what);
        notes.push(format!("images are stored in {} ({on}), not synced, and removed at the end", folder.display()));
    }
    Ok(BenchPlan { settings: BenchSettings::Network(settings), repetitions, not_measured, notes })
}

pub(crate) struct Network {
    settings: NetworkSettings,
    secret: Option<Secret>,
    image: Vec<u8>,
    company: Company,
}

impl Network {
    pub fn new(settings: &NetworkSettings) -> Result<Network, BenchError> {
        let (bytes, duration) = (settings.bytes, settings.duration_ns);
        if !(64..=64 * MIB).contains(&bytes) {
            return Err(BenchError::Refused(format!("--size: images of {bytes} bytes; choose 64 bytes to 64 MiB")));
        }
        if duration < Nanos::from_millis(10) || duration > Nanos::from_secs(3600) {
            return Err(BenchError::Refused(format!("--duration {duration}: choose 10 ms to 1 hour per repetition")));
        }
        match (&settings.to, &settings.folder) {
            (None, Some(folder)) => drop(store(folder)?),
            (Some(_), None) => {}
            _ => {
                return Err(BenchError::Refused("give either --to HOST or --store DIR, not both".into()));
            }
        }
        let secret = settings.secret_file.as_deref().map(Secret::read).transpose().map_err(refused)?;
        let company = Company::new(&settings.beside)?;
        Ok(Network { settings: settings.clone(), secret, image: image(bytes), company })
    }

    /// Sends one image to the other machine, so that errors appear before the run starts.
    fn probe(&mut self) -> Result<(), BenchError> {
        let Some(to) = &self.settings.to else { return Ok(()) };
        punctual_watchdog::starting(format_args!("the first post to {to}"), punctual_watchdog::SHORT);
        Client::connect(resolve(to)?, to, self.secret.as_ref())?.post(&self.image)
    }

    /// Sends images until the duration has passed, while the chosen load runs.
    fn repeat(&self, to: SocketAddr, name: &str, stop: &AtomicBool, measured: &mut Measured) -> Result<(), BenchError> {
        let mut client = Client::connect(to, name, self.secret.as_ref())?;
        let over = AtomicBool::new(false);
        let before = Counters::read();
        let (sent, beside) = thread::scope(|scope| {
            let company = self.company.start(scope, &over, self.settings.duration_ns);
            let sent = client.send(&self.image, self.settings.duration_ns, stop);
            over.store(true, Relaxed);
            (sent, company.and_then(|c| c.join().unwrap_or(Err(BenchError::Ended))))
        });
        let (sent, after) = (sent?, Counters::read());
        let of = self.of();
        let images = sent.times.count();
        self.add_to(&of, sent, measured);
        match before.zip(after) {
            Some((before, after)) => after.since(&before).add_to(&of, images, measured),
            None => measured.notes.push("CPU share and interrupts: /proc/stat cannot be read".into()),
        }
        beside?.add_to(&of, measured);
        Ok(())
    }

    fn add_to(&self, of: &str, sent: Sent, measured: &mut Measured) {
        let seconds = sent.elapsed_ns as f64 / 1e9;
        measured.figure(of, "images", "1/s", sent.times.count() as f64 / seconds);
        let mib = (sent.times.count() * self.image.len() as u64) as f64 / MIB as f64;
        measured.figure(of, "rate", "MiB/s", mib / seconds);
        measured.times(of, "post and answer", sent.times);
    }

    /// Describes what was measured, including the load that ran at the same time.
    fn of(&self) -> String {
        let place = if self.settings.to.is_some() { "to another machine" } else { "over loopback" };
        let beside = match self.settings.beside {
            Beside::Nothing => String::new(),
            Beside::Nqueens { n, threads } => format!(", beside {n} queens in {threads} threads"),
            Beside::Measure => ", beside a measurement".into(),
        };
        format!("posts of {} bytes {place}{beside}", self.image.len())
    }
}

impl Axis for Network {
    fn longest(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.settings.duration_ns.0) + punctual_watchdog::SHORT)
    }

    fn repetition(&mut self, turn: &mut Turn<'_>) -> Result<Ended, BenchError> {
        let (began, cpu) = (now(), cpu_time());
        let mut measured = Measured::default();
        match (&self.settings.to, &self.settings.folder) {
            (Some(to), _) => self.repeat(resolve(to)?, to, turn.stop, &mut measured)?,
            (None, Some(folder)) => {
                with_server(folder, |to| self.repeat(to, "the server here", turn.stop, &mut measured))?
            }
            (None, None) => return Err(BenchError::Ended),
        }
        if turn.is_stopped() {
            return Ok(Ended::Stopped);
        }
        (measured.elapsed_ns, measured.cpu_ns) = (now() - began, Some(cpu_time() - cpu));
        Ok(Ended::Done(measured))
    }
}

fn store(folder: &Path) -> Result<Store, BenchError> {
    let limits = StoreLimits::default();
    Store::open(folder, limits)
        .map_err(|e| BenchError::Refused(format!("{e}; choose a writable directory with --store DIR")))
}

/// Runs a server on a free port of the loopback interface while `work` runs, then removes the stored images.
fn with_server(folder: &Path, work: impl FnOnce(SocketAddr) -> Result<(), BenchError>) -> Result<(), BenchError> {
    let server = Server::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).map_err(refused)?;
    let server = server.storing(store(folder)?);
    let (stop, keep) =
        std::io::pipe().map_err(BenchError::io("create", "a pipe", "raise RLIMIT_NOFILE (ulimit -n)"))?;
    let done = thread::scope(|scope| {
        let run = || server.run(&stop, &|_| {});
        let running = thread::Builder::new().name("serve".into()).spawn_scoped(scope, run);
        let running = running.map_err(BenchError::io("start", "a thread", "raise RLIMIT_NPROC (ulimit -u)"))?;
        let done = work(server.local_addr());
        // Closing this end of the pipe stops the server.
        drop(keep);
        let served = running.join().map_or(Err(BenchError::Ended), |s| s.map(drop).map_err(refused));
        done.and(served)
    });
    server.store().into_iter().for_each(Store::clear);
    done
}

fn refused(error: LoadError) -> BenchError {
    BenchError::Refused(error.to_string())
}

/// Resolves HOST, HOST:PORT or [ADDRESS]:PORT to an address.
fn resolve(to: &str) -> Result<SocketAddr, BenchError> {
    let with_port = match to.parse::<IpAddr>() {
        Ok(address) => Ok(vec![SocketAddr::new(address, DEFAULT_PORT)].into_iter()),
        Err(_) if to.contains(':') => to.to_socket_addrs(),
        Err(_) => (to, DEFAULT_PORT).to_socket_addrs(),
    };
    let mut found = with_port.map_err(BenchError::io("find", to, SERVER))?;
    found.next().ok_or_else(|| BenchError::Refused(format!("{to} does not resolve to an address; {SERVER}")))
}

/// Returns a PGM image that any viewer can display: grey noise, which no file system can compress.
fn image(bytes: u64) -> Vec<u8> {
    const WIDTH: u64 = 16;
    let rows = bytes / WIDTH;
    let mut image = format!("P5\n{WIDTH} {rows}\n255\n").into_bytes();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    while (image.len() as u64) < bytes {
        // Marsaglia's xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        image.extend_from_slice(&state.to_le_bytes());
    }
    image.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
    image
}

#[cfg(test)]
mod tests;
