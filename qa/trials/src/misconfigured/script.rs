use super::table::{Ground, Injection};
use std::fmt::Write;

pub const OUT: &str = "/audits";

/// Start of each script. It keeps the parts of each finding that are compared: rule, state and summary.
const BEGIN: &str = r#"
mkdir -p /audits
w() { [ -e "$1" ] && echo "$2" > "$1"; }
app() { /bin/punctual-application "$@" & P=$!; usleep 700000; }
daemon() { app policy=other name=$1 sleep=relative lock=no slack=0; }
end() { kill $P; wait $P; }
look() {
  if [ -n "$AS_USER" ]; then
    ( ulimit -r $R; ulimit -l $L; exec su -s /bin/sh nobody -c "/bin/punctual audit --json --all" )
  else
    eval "/bin/punctual audit --json --all $OPTIONS"
  fi | grep -E '^      "(id|state|summary)": ' > /audits/$1.audit
}
come() { echo x > /dev/ttyS0; sleep 1; }
values() { for f in $2; do echo "== $f"; cat "$f"; done > /audits/$1.values; }
exec > /dev/null 2> /audits/errors
"#;

/// Returns the script for one boot of a setup: an audit before, with and after each injection; and, if the injection's
/// fix is tried, after the fix and after its undo.
pub fn of_part(ground: &Ground, preparation: &str, injections: &[&Injection]) -> String {
    let mut script = begin(ground, preparation);
    add(&mut script, "look ground.first\nlook ground.second");
    for injection in injections {
        add(&mut script, &format!("echo '== {}' >&2", injection.name));
        add(&mut script, &injection.inject);
        add(&mut script, &format!("look {}.injected", injection.name));
        if !injection.fixes.is_empty() {
            add(&mut script, &fixed(injection));
        }
        add(&mut script, &injection.undo);
        add(&mut script, &format!("look {}.undone", injection.name));
    }
    add(&mut script, "exit 0");
    script
}

/// Returns the script for an injection that needs a boot of its own: the preparation of the setup, then one audit.
pub fn of_boot(ground: &Ground, preparation: &str, injection: &Injection) -> String {
    let mut script = begin(ground, preparation);
    add(&mut script, &injection.inject);
    add(&mut script, &format!("look {}.injected\nexit 0", injection.name));
    script
}

/// Returns commands that apply the fix of an injection's rules and undo it. An interrupt moves to another CPU only when
/// it next occurs.
fn fixed(Injection { name, fixes, files, .. }: &Injection) -> String {
    let fix = format!("/bin/punctual audit --fix {} --i-know --look-again 0s $OPTIONS", fixes.join(" "));
    format!(
        "values {name}.injected \"{files}\"\neval \"{fix}\" >&2\ncome\nlook {name}.fixed\n\
         /bin/punctual undo >&2\ncome\nvalues {name}.unfixed \"{files}\"\nlook {name}.unfixed"
    )
}

fn begin(ground: &Ground, preparation: &str) -> String {
    let user = if ground.as_user { "yes" } else { "" };
    let options = ground.audit.replace('$', "\\$");
    format!("{BEGIN}AS_USER={user}\nOPTIONS=\"{options}\"\n{preparation}\n")
}

fn add(script: &mut String, text: &str) {
    let _ = writeln!(script, "{text}");
}
