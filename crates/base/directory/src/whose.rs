//! As whom a directory is written.

use crate::safe;
use punctual_uapi::Identity;
use std::fs;
use std::sync::{Arc, OnceLock};

/// Whose files a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Results of the person at the keyboard: the user given to [`set_owner`], else the caller.
    Results,
    /// The system's own (journals, caches, drop-in files): always the caller's.
    System,
}

static OWNER: OnceLock<Owner> = OnceLock::new();

/// As whom results are written.
#[derive(Debug)]
pub(crate) struct Owner {
    pub identity: Arc<Identity>,
    /// Given by name. Otherwise it is the user who called sudo, and root still writes where nobody but root can.
    pub named: bool,
}

/// Results are written as this user from now on. Only root can write as somebody else. The first call counts.
///
/// `named` is what the user asked for, a name or a number; without it `SUDO_UID`, the user who called sudo(8).
///
/// # Errors
/// No such user, in words; also a name given by anybody but root.
pub fn set_owner(named: Option<&str>, sudo_uid: Option<&str>) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    if root {
        // A confined process could not read them.
        users();
        safe::is_unmapped(0);
    }
    let user = match (named, sudo_uid) {
        (Some(_), _) if !root => return Err("only root can write as another user: leave --owner out".into()),
        (Some(user), _) | (None, Some(user)) if root => user,
        _ => return Ok(()),
    };
    let identity = known(user).ok_or_else(|| {
        format!("there is no user `{user}` (/etc/passwd has none): give a name from there, or a number, with --owner")
    })?;
    if identity.uid != 0 {
        let _ = OWNER.set(Owner { identity: Arc::new(identity), named: named.is_some() });
    }
    Ok(())
}

/// For root: the user to whom something belongs, where that is somebody else.
pub(crate) fn of_owner(uid: u32) -> Option<Arc<Identity>> {
    let root = rustix::process::geteuid().is_root();
    (root && uid != 0 && !safe::is_unmapped(uid)).then(|| known(&uid.to_string()).map(Arc::new)).flatten()
}

fn known(user: &str) -> Option<Identity> {
    let (passwd, group) = users();
    identity(user, passwd, group)
}

/// /etc/passwd and /etc/group.
fn users() -> &'static (String, String) {
    static USERS: OnceLock<(String, String)> = OnceLock::new();
    // A name in another character set must not hide the other users.
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    USERS.get_or_init(|| (read("/etc/passwd"), read("/etc/group")))
}

/// A user by name or number. A number without an entry is a user with the group of the same number, as in containers.
fn identity(user: &str, passwd: &str, group: &str) -> Option<Identity> {
    let entry = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entry.filter(|fields| fields.len() >= 4).find(|fields| fields[0] == user || fields[2] == user);
    let Some(entry) = entry else {
        // u32::MAX is no user: it means "unchanged" (setfsuid(2)).
        let uid = user.parse().ok().filter(|uid| *uid != u32::MAX)?;
        return Some(Identity { uid, gid: uid, groups: Vec::new() });
    };
    let (name, uid, gid) = (entry[0], entry[2].parse().ok()?, entry[3].parse().ok()?);
    let groups = group.lines().filter_map(|line| {
        let (head, members) = line.rsplit_once(':')?;
        members.split(',').any(|member| member == name).then(|| head.rsplit(':').next()?.parse().ok()).flatten()
    });
    Some(Identity { uid, gid, groups: groups.collect() })
}

impl Whose {
    /// As whom files are accessed; `None`: as the caller.
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
        assert_eq!(identity("ana", PASSWD, GROUP), Some(ana.clone()));
        assert_eq!(identity("1000", PASSWD, GROUP), Some(ana));
        assert_eq!(identity("2000", PASSWD, GROUP), Some(Identity { uid: 2000, gid: 2000, groups: vec![] }));
    }

    #[test]
    fn what_is_no_user_is_refused() {
        for user in ["bob", "", "-1", "4294967295", "4294967296", "short", "x", "1000 "] {
            assert_eq!(identity(user, PASSWD, GROUP), None, "{user:?}");
        }
    }
}
