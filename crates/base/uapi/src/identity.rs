//! The file-system identity of a thread: the user, group and supplementary groups that the kernel checks for file
//! access (credentials(7)).

use crate::Error;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};

/// An identity for file access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User ID given to created files.
    pub uid: u32,
    /// Group ID given to created files.
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Guard that restores the previous file-system identity of the calling thread when it is dropped.
///
/// Not `Send`, because the kernel keeps one file-system identity per thread.
pub struct Assumed {
    before: Identity,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Identity {
    /// Returns the identity of the calling thread.
    ///
    /// # Errors
    /// See getgroups(2).
    pub fn current() -> Result<Identity, Error> {
        // An invalid ID changes nothing and returns the current one (setfsuid(2), NOTES).
        // SAFETY: neither call takes a pointer.
        let (uid, gid) = unsafe { (libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX)) };
        Ok(Identity { uid: uid.cast_unsigned(), gid: gid.cast_unsigned(), groups: groups()? })
    }

    /// Makes the calling thread access files with this identity until the returned guard is dropped. Other threads keep
    /// their identity. A change away from user 0 also clears the thread's effective capabilities for files until then
    /// (capabilities(7), "Effect of user ID changes on capabilities").
    ///
    /// # Errors
    /// `EPERM`: the thread lacks `CAP_SETUID` or `CAP_SETGID`. The identity is then unchanged.
    pub fn assume(&self) -> Result<Assumed, Error> {
        let assumed = Assumed { before: Identity::current()?, _not_send: std::marker::PhantomData };
        let ends_with = death_signal();
        let set = self.set();
        set_death_signal(ends_with);
        set.map(|()| assumed)
    }

    fn set(&self) -> Result<(), Error> {
        set_groups(&self.groups)?;
        // The user comes last: the change away from user 0 drops the capabilities over files, but not CAP_SETGID.
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
        // With SECBIT_NO_SETUID_FIXUP these capabilities stay (capabilities(7)), and the thread would still be root
        // under another user's ID.
        let over_files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::FOWNER;
        let held = capabilities(None).map_err(|errno| Error::from_errno("capget", "this thread", errno))?.effective;
        if self.uid != 0 && held.intersects(over_files) {
            return Err(Error::from_errno(
                "setfsuid",
                format!("{}: the capabilities that bypass file permission checks are still effective", on()),
                Errno::PERM,
            ));
        }
        Ok(())
    }
}

impl Drop for Assumed {
    fn drop(&mut self) {
        let ends_with = death_signal();
        // Restoring what was held before is always allowed; the user comes first, because the capabilities over files
        // return with user 0.
        // SAFETY: neither call takes a pointer.
        unsafe {
            libc::setfsuid(self.before.uid);
            libc::setfsgid(self.before.gid);
        }
        // CAP_SETGID allowed the change and is still held; without it there was no change.
        let _ = set_groups(&self.before.groups);
        set_death_signal(ends_with);
    }
}

/// Returns the signal that this process gets when its parent dies; 0 if there is none. A change of identity clears this
/// setting (PR_SET_PDEATHSIG(2const), CAVEATS).
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

/// Returns the supplementary groups of the calling thread.
fn groups() -> Result<Vec<u32>, Error> {
    // SAFETY: with 0 nothing is written.
    let count = unsafe { libc::getgroups(0, std::ptr::null_mut()) };
    let mut groups = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: at most `count` numbers are written, and the buffer has that size.
    let written = unsafe { libc::getgroups(count, groups.as_mut_ptr()) };
    if written < 0 {
        return Err(Error::last("getgroups", "this thread"));
    }
    groups.truncate(written.unsigned_abs() as usize);
    Ok(groups)
}

/// Calls setgroups(2) directly, which changes only the calling thread; the C library's setgroups(3) changes all
/// threads.
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
