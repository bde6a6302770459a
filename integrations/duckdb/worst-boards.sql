-- The 20 boards with the latest wakeups, and under what.
--   punctual report runs --format jsonl --out fleet.jsonl
--   duckdb -c ".read integrations/duckdb/fleet.sql" -c ".read integrations/duckdb/worst-boards.sql"
SELECT host,
       arg_max(kernel, max_ns)  AS kernel,
       count(DISTINCT run)      AS runs,
       max(max_ns) / 1e3        AS worst_us,
       arg_max(load, max_ns)    AS load,
       arg_max(cpu, max_ns)     AS cpu,
       arg_max(cause, max_ns)   AS cause
FROM fleet
WHERE doubt IS NULL AND max_ns IS NOT NULL
GROUP BY host
ORDER BY worst_us DESC
LIMIT 20;
