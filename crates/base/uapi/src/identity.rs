//! The file-system identity of a thread: the user, group and groups by which the kernel judges its accesses to files (credentials(7)).

use crate::Error;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};

/// A user as whom files are accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User.
    pub uid: u32,
    /// Group of what is created.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// The calling thread accesses files as another user until this is dropped.
///
/// Not `Send`: the kernel keeps a file-system identity per thread.
pub struct Assumed {
    before: Identity,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Identity {
    /// Of the calling thread.
    ///
    /// # Errors
    /// getgroups(2).
    pub fn current() -> Result<Identity, Error> {
        // An invalid ID changes nothing and returns the current one (setfsuid(2), NOTES).
        // SAFETY: neither call takes a pointer.
        let (uid, gid) = unsafe { (libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX)) };
        Ok(Identity { uid: uid.cast_unsigned(), gid: gid.cast_unsigned(), groups: groups()? })
    }

    /// The calling thread accesses files as this user until the answer is dropped. Other threads keep their identity. Effective
    /// capabilities over files are dropped meanwhile (capabilities(7), "Effect of user ID changes on capabilities").
    ///
    /// # Errors
    /// `EPERM` without `CAP_SETUID` and `CAP_SETGID`; the identity is as before then.
    pub fn assume(&self) -> Result<Assumed, Error> {
        let assumed = Assumed { before: Identity::current()?, _not_send: std::marker::PhantomData };
        let ends_with = death_signal();
        let set = self.set();
        set_death_signal(ends_with);
        set.map(|()| assumed)
    }

    fn set(&self) -> Result<(), Error> {
        set_groups(&self.groups)?;
        // The user last: file capabilities go with user 0, and CAP_SETGID is none of them.
        // SAFETY: neither call takes a pointer.
        unsafe {
            libc::setfsgid(self.gid);
            libc::setfsuid(self.uid);
        }
        let on = || format!("user {}, group {}", self.uid, self.gid);
        let now = Identity::current()?;
        if (now.uid, now.gid) != (self.uid, self.gid) {
            return Err(Error::from_errno("setfsuid", on(), Errno::PERM));
        }
        // They stay under SECBIT_NO_SETUID_FIXUP (capabilities(7)), and with them this would be root in another's name.
        let over_files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::FOWNER;
        let held = capabilities(None).map_err(|errno| Error::from_errno("capget", "this thread", errno))?.effective;
        if self.uid != 0 && held.intersects(over_files) {
            return Err(Error::from_errno("setfsuid", format!("{}: capabilities over files stay", on()), Errno::PERM));
        }
        Ok(())
    }
}

impl Drop for Assumed {
    fn drop(&mut self) {
        let ends_with = death_signal();
        // What was held before may be taken again: the user first, since the capabilities over files come back with user 0.
        // SAFETY: neither call takes a pointer.
        unsafe {
            libc::setfsuid(self.before.uid);
            libc::setfsgid(self.before.gid);
        }
        // CAP_SETGID allowed the change and is still held; without it nothing was changed.
        let _ = set_groups(&self.before.groups);
        set_death_signal(ends_with);
    }
}

/// A change of identity forgets the signal that comes when the parent dies (PR_SET_PDEATHSIG(2const), CAVEATS); 0: none.
fn death_signal() -> libc::c_int {
    let mut signal = 0;
    // SAFETY: one number is written.
    unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) };
    signal
}

fn set_death_signal(signal: libc::c_int) {
    if signal != 0 {
        // SAFETY: no pointer is passed.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
    }
}

/// Of the calling thread.
fn groups() -> Result<Vec<u32>, Error> {
    // SAFETY: with 0 nothing is written.
    let count = unsafe { libc::getgroups(0, std::ptr::null_mut()) };
    let mut groups = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: at most `count` numbers are written, for which there is room.
    let written = unsafe { libc::getgroups(count, groups.as_mut_ptr()) };
    if written < 0 {
        return Err(Error::last("getgroups", "this thread"));
    }
    groups.truncate(written.unsigned_abs() as usize);
    Ok(groups)
}

/// The system call, which changes the calling thread; setgroups(3) of a C library changes all threads.
fn set_groups(groups: &[u32]) -> Result<(), Error> {
    #[cfg(target_arch = "arm")]
    const SET_GROUPS: libc::c_long = libc::SYS_setgroups32;
    #[cfg(not(target_arch = "arm"))]
    const SET_GROUPS: libc::c_long = libc::SYS_setgroups;
    if self::groups().is_ok_and(|now| now == groups) {
        return Ok(());
    }
    // SAFETY: the kernel reads `len` numbers.
    match unsafe { libc::syscall(SET_GROUPS, groups.len(), groups.as_ptr()) } {
        0 => Ok(()),
        _ => Err(Error::last("setgroups", "this thread")),
    }
}
