//! Implements `serve`, the server for the network load and for `bench network`.

pub mod args;

use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use args::ServeArgs;
use punctual_loads::{Secret, ServeEvent, Server, Store, StoreLimits};
use punctual_uapi::{self as uapi, Sig, SignalSet, Waited};
use std::net::SocketAddr;
use std::process::ExitCode;

/// Runs `punctual serve`, which answers until a signal ends it. That is the normal end.
pub fn serve(args: &ServeArgs) -> ExitCode {
    let answered = answer(args, SocketAddr::new(args.bind, args.port));
    finish("serve", OutputArgs::default(), answered.map(|()| Answer::default()))
}

fn answer(args: &ServeArgs, address: SocketAddr) -> Result<(), Refusal> {
    let signals = SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term]);
    uapi::block(&signals)?;
    let secret = args.secret_file.as_deref().map(Secret::read).transpose().map_err(Refusal::environment)?;
    if secret.is_none() && !address.ip().to_canonical().is_loopback() {
        let ip = address.ip();
        return Err(Refusal::usage(format!(
            "--bind {ip} is reachable from other machines, and no client is authenticated: add --secret-file FILE, and name a copy of the file \
             with --secret-file on the machine that measures; make one with: (umask 077; head -c 32 /dev/urandom | base64 > FILE)"
        )));
    }
    let mut server = Server::bind(address).map_err(Refusal::environment)?;
    if let Some(secret) = secret {
        server = server.asking(secret);
    }
    if let Some(folder) = &args.store {
        let limits = StoreLimits { largest: args.largest << 20, kept: args.keep << 20 };
        let store = Store::open(folder, limits)
            .map_err(|e| Refusal::environment(format!("{e}; name an existing directory with --store DIR")))?;
        server = server.storing(store);
    }
    let (stop, keep) = std::io::pipe().map_err(|e| Refusal::environment(format!("cannot create a pipe: {e}")))?;
    let served = std::thread::scope(|scope| {
        let run = || server.run(&stop, &show);
        let running = std::thread::Builder::new().name("serve".into()).spawn_scoped(scope, run)?;
        while let Waited::TimedOut = uapi::wait(&signals, None) {}
        let _limit = punctual_watchdog::limit("the connections", punctual_watchdog::GRACE);
        // Closing the other end of the pipe stops the server.
        drop(keep);
        Ok(running.join())
    });
    let no_thread = |e: std::io::Error| {
        Refusal::environment(format!("the server needs a thread: {e}; see `ulimit -u` and pids.max of the cgroup"))
    };
    match served.map_err(no_thread)? {
        Ok(Ok(served)) => {
            progress!("served {} clients, {} datagrams\n", served.clients, served.datagrams);
            Ok(())
        }
        Ok(Err(e)) => Err(Refusal::environment(e)),
        Err(_) => Err(Refusal::environment("the server's thread ended unexpectedly")),
    }
}

fn show(event: ServeEvent) {
    match event {
        ServeEvent::Listening(address) => progress!("listening on {address} (TCP and UDP); stop with Ctrl-C\n"),
        ServeEvent::Began(client) => progress!("{client} connected\n"),
        ServeEvent::Ended(client, bytes) => progress!("{client} disconnected after {bytes} bytes\n"),
        ServeEvent::Refused(client, why) => progress!("{client} was refused: {}\n", why.escape_debug()),
    }
}
