# The Python package's own tests with the program. $1: the program, $2: the integrations, $3: an empty folder. 77: not here.
set -euo pipefail
command -v python3 >/dev/null || { echo "apt-get install python3"; exit 77; }
cd "$3"
PUNCTUAL=$1 PYTHONPATH=$2/python/src PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -s "$2/python/tests" >said 2>&1 || { cat said; exit 1; }
sed -n 's/^Ran/python: ran/p' said
