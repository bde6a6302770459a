//! The identity (user and groups) with which the files of a directory are written.

use crate::safe;
use punctual_uapi::Identity;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

/// Kind of the files in a directory, which determines who owns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Results for the user who runs the program. They belong to the user given to [`set_owner`], otherwise to the
    /// caller.
    Results,
    /// Files of the system (journals, caches, drop-in files). They always belong to the caller.
    System,
}

static OWNER: OnceLock<Owner> = OnceLock::new();

/// Identity with which results are written.
#[derive(Debug)]
pub(crate) struct Owner {
    pub identity: Arc<Identity>,
    /// True if the user chose the owner. Otherwise the owner is the user who called sudo, and root still writes to
    /// directories that only root can change.
    pub named: bool,
}

/// Selects the user to whom results belong. Only root can write as another user. Only the first call has an effect.
///
/// `named` is the owner that the user chose, a name or a number. If it is `None`, `sudo` holds the ID of the user who
/// called sudo(8) and the ID of the group (`SUDO_UID`, `SUDO_GID`). A user who is not in /etc/passwd is looked up with
/// getent(1) (see nsswitch.conf(5)).
///
/// # Errors
/// Returns a message for the user if the named user does not exist, or if `named` is given but the process is not root.
pub fn set_owner(named: Option<&str>, sudo: Option<(&str, Option<&str>)>) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    if root {
        // Read now, because a confined process cannot read them later.
        users();
        safe::is_unmapped(0);
    }
    let (user, group) = match (named, sudo) {
        (Some(_), _) if !root => return Err("only root can write as another user: omit --owner".into()),
        (Some(user), _) if root => (user, None),
        (None, Some((user, group))) if root => (user, group.and_then(|group| group.parse().ok())),
        _ => return Ok(()),
    };
    let (passwd, groups) = users();
    let asked = || entry(user, passwd).is_none().then(|| entry_elsewhere(user)).flatten();
    let identity = asked().and_then(|line| identity(user, group, &line, groups));
    let identity = identity.or_else(|| self::identity(user, group, passwd, groups)).ok_or_else(|| {
        format!(
            "user `{user}` does not exist (neither in /etc/passwd nor for `getent passwd`): give --owner another name, or a number"
        )
    })?;
    if identity.uid != 0 {
        let _ = OWNER.set(Owner { identity: Arc::new(identity), named: named.is_some() });
    }
    Ok(())
}

/// Returns the identity of the user `uid` if this process is root and `uid` is another user; otherwise `None`.
pub(crate) fn of_owner(uid: u32) -> Option<Arc<Identity>> {
    let root = rustix::process::geteuid().is_root();
    (root && uid != 0 && !safe::is_unmapped(uid)).then(|| known(&uid.to_string()).map(Arc::new)).flatten()
}

fn known(user: &str) -> Option<Identity> {
    let (passwd, groups) = users();
    identity(user, None, passwd, groups)
}

/// Looks a user up with getent(1), which also queries other sources (LDAP, SSSD, systemd-homed). Returns a line in the
/// format of passwd(5).
fn entry_elsewhere(user: &str) -> Option<String> {
    let mut getent = Command::new("/usr/bin/getent");
    let asked = getent.args(["passwd", "--", user]).stdin(Stdio::null());
    let output = punctual_watchdog::output(asked, punctual_watchdog::GRACE).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the contents of /etc/passwd and /etc/group.
fn users() -> &'static (String, String) {
    static USERS: OnceLock<(String, String)> = OnceLock::new();
    // A name in another encoding must not hide the other users.
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    USERS.get_or_init(|| (read("/etc/passwd"), read("/etc/group")))
}

/// Returns the fields of the user's line in passwd(5) format, found by name or number.
fn entry<'a>(user: &str, passwd: &'a str) -> Option<Vec<&'a str>> {
    let entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).filter(|fields| fields.len() >= 4);
    entries.into_iter().find(|fields| fields[0] == user || fields[2] == user)
}

/// Returns the identity of a user given by name or number. A number without an entry gets the group `group` or, if that
/// is `None`, the group with the same number, as is usual in containers.
fn identity(user: &str, group: Option<u32>, passwd: &str, groups: &str) -> Option<Identity> {
    // u32::MAX is neither a user nor a group: it means "unchanged" (setfsuid(2)).
    let valid = |id: u32| (id != u32::MAX).then_some(id);
    let Some(entry) = entry(user, passwd) else {
        let uid = user.parse().ok().and_then(valid)?;
        return Some(Identity { uid, gid: group.and_then(valid).unwrap_or(uid), groups: Vec::new() });
    };
    let (name, uid, gid) = (entry[0], entry[2].parse().ok()?, entry[3].parse().ok()?);
    let groups = groups.lines().filter_map(|line| {
        let (head, members) = line.rsplit_once(':')?;
        members.split(',').any(|member| member == name).then(|| head.rsplit(':').next()?.parse().ok()).flatten()
    });
    Some(Identity { uid, gid, groups: groups.collect() })
}

impl Whose {
    /// Returns the identity with which the files are accessed; `None` for the identity of the caller.
    pub(crate) fn owner(self) -> Option<&'static Owner> {
        match self {
            Whose::Results => OWNER.get(),
            Whose::System => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nana:x:1000:1001:Ana:/home/ana:/bin/sh\nshort:x\n";
    const GROUP: &str = "root:x:0:\naudio:x:29:ana,bob\nana:x:1001:\nplugdev:x:46:bob,ana\nother:x:50:joana\n";

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let ana = Identity { uid: 1000, gid: 1001, groups: vec![29, 46] };
        assert_eq!(identity("ana", None, PASSWD, GROUP), Some(ana.clone()));
        assert_eq!(identity("1000", Some(7), PASSWD, GROUP), Some(ana));
        let other = |gid| Some(Identity { uid: 2000, gid, groups: vec![] });
        assert_eq!(identity("2000", None, PASSWD, GROUP), other(2000));
        assert_eq!(identity("2000", Some(100), PASSWD, GROUP), other(100));
        assert_eq!(identity("2000", Some(u32::MAX), PASSWD, GROUP), other(2000));
    }

    #[test]
    fn what_is_no_user_is_refused() {
        for user in ["bob", "", "-1", "4294967295", "4294967296", "short", "x", "1000 "] {
            assert_eq!(identity(user, None, PASSWD, GROUP), None, "{user:?}");
        }
    }
}
