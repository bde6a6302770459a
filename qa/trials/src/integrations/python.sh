# Runs the Python package's own tests with the program, and the examples of docs/python.md. These need pandas, polars
# and matplotlib, from the system or from an environment that is kept. $1: the program, $2: the integrations, $3: an
# empty directory, $4: the directory of tools. Exits with 77 if something is missing.
set -euo pipefail
command -v python3 >/dev/null || { echo "apt-get install python3"; exit 77; }
python=python3
if ! $python -c 'import pandas, polars, matplotlib' 2>/dev/null; then
  python=$4/python/bin/python3
  [ -x "$python" ] || { mkdir -p "$4" && python3 -m venv "$4/python"; } || { echo "apt-get install python3-venv"; exit 77; }
  "$python" -c 'import pandas, polars, matplotlib' 2>/dev/null || "$python" -m pip install -q pandas polars matplotlib >"$3/log" 2>&1 ||
    { tail -3 "$3/log"; echo "pip install pandas polars matplotlib"; exit 77; }
fi
cd "$3"
PUNCTUAL=$1 PYTHONPATH=$2/python/src PYTHONDONTWRITEBYTECODE=1 $python -m unittest discover -s "$2/python/tests" >said 2>&1 || { cat said; exit 1; }
grep -q '^OK$' said || { tail -3 said; echo "tests were skipped"; exit 1; }
sed -n 's/^Ran/python: ran/p' said
