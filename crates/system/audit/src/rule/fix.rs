use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// Why no fix exists; all other fields are then empty.
    pub none: Option<String>,
    /// Actions that take effect immediately and are lost on reboot.
    #[serde(default)]
    pub now: Vec<Action>,
    /// Actions that take effect at the next boot.
    #[serde(default)]
    pub persist: Vec<Action>,
    pub undo: Option<String>,
    pub risk: Option<String>,
    /// True if the fix disturbs running programs: a link reset, CPUs going offline.
    #[serde(default)]
    pub disruptive: bool,
}

impl Fix {
    /// Returns `now`, or `persist` if that is empty.
    pub(crate) fn first(&self) -> &[Action] {
        if self.now.is_empty() { &self.persist } else { &self.now }
    }

    /// Formats [`Fix::first`] as one line to type.
    pub fn line(&self) -> Option<String> {
        line(self.first())
    }
}

/// Formats actions as one line to type.
pub(crate) fn line(actions: &[Action]) -> Option<String> {
    let lines: Vec<String> = actions.iter().map(Action::line).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Write to a file, or to every file that a path with `*` names; `@` is the number of each measured CPU.
    Write {
        file: String,
        value: String,
    },
    /// Set a parameter of sysctl(8); permanent in /etc/sysctl.d.
    Sysctl {
        /// Name of the parameter, for example `vm.swappiness`.
        key: String,
        value: String,
    },
    Boot {
        #[serde(default)]
        add: String,
        /// Names of parameters to remove.
        #[serde(default)]
        remove: String,
    },
    File {
        path: String,
        content: String,
    },
    Run(String),
    Manual(String),
}

/// Introduces the reason at the end of a fix's line if a kernel parameter of the fix has no effect on this kernel.
pub(crate) const NOT_HERE: &str = " (not here: ";

/// Introduces the list of kernels that have the parameters of a fix, at the end of its line.
pub(crate) const SUPPORTED: &str = " (supported: ";

/// Ends a fix that changes the command line under WSL 2.
pub(crate) const ON_WSL: &str = " (WSL: by kernelCommandLine= in .wslconfig, which adds words but removes none)";

/// Begins the line of a fix that is impossible inside a container.
pub(crate) const ON_THE_HOST: &str = "on the host: ";

impl Action {
    /// Returns the kernel parameters that the fix adds.
    pub(crate) fn added(&self) -> impl Iterator<Item = &str> {
        let Action::Boot { add, .. } = self else { return "".split_whitespace() };
        add.split_whitespace()
    }

    /// Returns the names of the kernel parameters that the fix only removes.
    pub(crate) fn removed(&self) -> impl Iterator<Item = &str> {
        let (add, remove) = match self {
            Action::Boot { add, remove } => (add.as_str(), remove.as_str()),
            _ => ("", ""),
        };
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        remove.split_whitespace().filter(move |gone| !add.split_whitespace().any(|word| name(word) == *gone))
    }

    /// Returns true if the action changes a setting of the kernel itself, whichever rule it belongs to. Network
    /// settings do not count, because each network namespace has its own.
    pub(crate) fn is_kernels(&self) -> bool {
        match self {
            Action::Boot { .. } => true,
            Action::Write { file, .. } => ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|at| file.starts_with(at)),
            Action::Sysctl { key, .. } => !key.starts_with("net."),
            Action::File { .. } | Action::Run(_) | Action::Manual(_) => false,
        }
    }
}

impl Action {
    /// Returns a command to type, or a sentence if no command exists.
    pub fn line(&self) -> String {
        match self {
            Action::Write { file, value } => match file.contains('@') {
                true => format!("for each measured CPU N: echo {value} | sudo tee {}", file.replace('@', "N")),
                false => format!("echo {value} | sudo tee {file}"),
            },
            Action::Sysctl { key, value } => format!("sudo sysctl -w {key}={value}"),
            Action::Boot { add, remove } => {
                // Adding a parameter replaces the value that is removed.
                let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
                if let Some(word) = add.split_whitespace().find(|word| name(word) == *remove && word.contains('=')) {
                    return format!("kernel command line: replace `{remove}=` by `{word}`");
                }
                let parts = [("add", add), ("remove", remove)];
                let parts = parts.iter().filter(|(_, what)| !what.is_empty());
                let parts: Vec<String> = parts.map(|(verb, what)| format!("{verb} `{what}`")).collect();
                format!("kernel command line: {}", parts.join(", "))
            }
            Action::File { path, content } => format!("in {path}: {}", content.trim().replace('\n', " / ")),
            Action::Run(command) => format!("sudo {command}"),
            Action::Manual(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_shown_as_commands() {
        let write = Action::Write { file: "/sys/x*/y".into(), value: "1".into() };
        assert_eq!(write.line(), "echo 1 | sudo tee /sys/x*/y");
        let boot = Action::Boot { add: "a=1".into(), remove: "b".into() };
        assert_eq!(boot.line(), "kernel command line: add `a=1`, remove `b`");
        let boot = Action::Boot { add: "a=1".into(), remove: "a".into() };
        assert_eq!(boot.line(), "kernel command line: replace `a=` by `a=1`");
    }
}
