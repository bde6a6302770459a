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
come() { echo x > /dev/ttyS0; sleep 1; }
values() { for f in $2; do echo "== $f"; cat "$f"; done > /audits/$1.values; }
exec > /dev/null 2> /audits/errors
"#;

/// For one boot of a ground: an audit before, with and after each plant, and where its fix is tried, after that and after its
/// undoing.
pub fn of_part(ground: &Ground, preparation: &str, plants: &[&Plant]) -> String {
    let mut script = begin(ground, preparation);
    add(&mut script, "look ground.first\nlook ground.second");
    for plant in plants {
        add(&mut script, &format!("echo '== {}' >&2", plant.name));
        add(&mut script, &plant.plant);
        add(&mut script, &format!("look {}.planted", plant.name));
        if !plant.mends.is_empty() {
            add(&mut script, &mended(plant));
        }
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

/// The fix of a plant's rules, and its undoing. An interrupt moves to another CPU when it comes next.
fn mended(Plant { name, mends, files, .. }: &Plant) -> String {
    let fix = format!("/bin/punctual audit --fix {} --i-know --look-again 0s $OPTIONS", mends.join(" "));
    format!(
        "values {name}.planted \"{files}\"\neval \"{fix}\" >&2\ncome\nlook {name}.fixed\n\
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
