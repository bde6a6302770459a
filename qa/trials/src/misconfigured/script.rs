use super::table::{Ground, Plant};
use std::fmt::Write;

pub const OUT: &str = "/audits";

/// Keeps of each finding what is compared: its rule, state and sentence.
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
exec > /dev/null 2> /audits/errors
"#;

/// For one boot of a ground: an audit before, with and after each plant.
pub fn of_part(ground: &Ground, preparation: &str, plants: &[&Plant]) -> String {
    let mut script = begin(ground, preparation);
    add(&mut script, "look ground.first\nlook ground.second");
    for plant in plants {
        add(&mut script, &format!("echo '== {}' >&2", plant.name));
        add(&mut script, &plant.plant);
        add(&mut script, &format!("look {}.planted", plant.name));
        add(&mut script, &plant.undo);
        add(&mut script, &format!("look {}.undone", plant.name));
    }
    add(&mut script, "exit 0");
    script
}

/// For the boot of one plant: the ground's preparation, then one audit.
pub fn of_boot(ground: &Ground, preparation: &str, plant: &Plant) -> String {
    let mut script = begin(ground, preparation);
    add(&mut script, &plant.plant);
    add(&mut script, &format!("look {}.planted\nexit 0", plant.name));
    script
}

fn begin(ground: &Ground, preparation: &str) -> String {
    let user = if ground.as_user { "yes" } else { "" };
    let options = ground.audit.replace('$', "\\$");
    format!("{BEGIN}AS_USER={user}\nOPTIONS=\"{options}\"\n{preparation}\n")
}

fn add(script: &mut String, text: &str) {
    let _ = writeln!(script, "{text}");
}
