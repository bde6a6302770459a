//! Parses `ssh://[USER@]HOST[:PORT]`.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address, or the name of a host in the user's ssh_config.
    pub host: String,
    /// User to log in as; `None`: as configured in ssh.
    pub user: Option<String>,
    /// Port of the SSH server; `None`: as configured in ssh.
    pub port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a target: expected ssh://user@host or ssh://user@host:port")]
pub struct TargetError(String);

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Target, TargetError> {
        let error = || TargetError(text.to_owned());
        let rest = text.strip_prefix("ssh://").ok_or_else(error)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, rest) = rest.split_once('@').map_or((None, rest), |(user, rest)| (Some(user.to_owned()), rest));
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or_else(error)?)),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = port
            .map(|port| port.parse::<u16>().ok().filter(|port| *port > 0))
            .map_or(Ok(None), |port| port.map(Some).ok_or_else(error))?;
        // A host name with a leading dash could be taken for an option; ssh itself refuses such names since 7.5.
        let is_name = |text: &str, more: &str| {
            !text.is_empty()
                && !text.starts_with('-')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let is_user = user.as_deref().is_none_or(|user| is_name(user, "._-"));
        match is_user && is_name(host, "._-:%") {
            true => Ok(Target { host: host.to_owned(), user, port }),
            false => Err(error()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        match self.host.contains(':') {
            true => write!(f, "ssh://{user}[{}]{port}", self.host),
            false => write!(f, "ssh://{user}{}{port}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn targets_are_read_and_written() {
        for text in ["ssh://pi", "ssh://pi@10.0.0.2:2222", "ssh://root@[fe80::1%eth0]:22", "ssh://[::1]"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in [
            "pi",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://a b",
            "ssh://a:0",
            "ssh://a:99999",
            "ssh://@h",
            "ssh://-x@h",
            "ssh://h/p",
            "ssh://[h]22",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_no_option_and_has_no_blank(text in "(ssh://)?.{0,20}") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert!(!target.host.starts_with('-') && !target.to_string().contains(char::is_whitespace));
            }
        }
    }
}
