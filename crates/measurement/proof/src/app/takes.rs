//! Determines how many pending releases a wait consumes, depending on what it waits for.

use punctual_check::{FileKind, descriptor_info};
use punctual_cycles::{Release, Takes};
use rustix::net::SocketType;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Returns which releases a wait consumes. `number` is the descriptor on which the process waits, if any.
pub(super) fn takes(release: Release, pid: i32, number: Option<i32>) -> Takes {
    match release {
        Release::Eventfd => number.map_or(Takes::Unknown, |number| of_eventfd(pid, number)),
        Release::Pipe => Takes::Bytes,
        Release::Socket => match number.and_then(|number| socket_type(pid, number)) {
            Some(SocketType::STREAM) => Takes::Bytes,
            Some(SocketType::DGRAM | SocketType::SEQPACKET) => Takes::One,
            _ => Takes::Unknown,
        },
        Release::MessageQueue => Takes::One,
        Release::Futex => Takes::Seen,
        _ => Takes::Unknown,
    }
}

/// Returns which releases a read of an eventfd consumes. Older kernels do not show whether it is a semaphore.
fn of_eventfd(pid: i32, number: i32) -> Takes {
    let info = descriptor_info(pid, number).filter(|(file, _)| file.kind == FileKind::Eventfd);
    let is_semaphore = info.and_then(|(_, info)| {
        let line = info.lines().find_map(|line| line.strip_prefix("eventfd-semaphore:"))?;
        line.trim().parse::<u8>().ok()
    });
    match is_semaphore {
        Some(0) => Takes::All,
        Some(_) => Takes::One,
        None => Takes::Unknown,
    }
}

fn socket_type(pid: i32, number: i32) -> Option<SocketType> {
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let socket = pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()?;
    rustix::net::sockopt::socket_type(socket).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::net::{AddressFamily, SocketFlags, socket_with};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

    fn own(release: Release, descriptor: BorrowedFd) -> Takes {
        takes(release, std::process::id().cast_signed(), Some(descriptor.as_raw_fd()))
    }

    #[test]
    fn what_a_descriptor_gives_is_read_from_the_kernel() {
        let counter = eventfd(0, EventfdFlags::empty()).unwrap();
        let found = own(Release::Eventfd, counter.as_fd());
        // Older kernels do not show this.
        assert!(matches!(found, Takes::All | Takes::Unknown), "{found:?}");
        let semaphore = eventfd(0, EventfdFlags::SEMAPHORE).unwrap();
        assert_ne!(own(Release::Eventfd, semaphore.as_fd()), Takes::All);
        for (kind, expected) in [(SocketType::STREAM, Takes::Bytes), (SocketType::SEQPACKET, Takes::One)] {
            let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
            let found = own(Release::Socket, socket.as_fd());
            assert!([expected, Takes::Unknown].contains(&found), "{found:?}");
        }
        assert_eq!(takes(Release::Futex, 1, None), Takes::Seen);
        assert_eq!(takes(Release::Eventfd, 1, None), Takes::Unknown);
    }
}
