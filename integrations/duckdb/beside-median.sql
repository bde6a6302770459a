-- Boards by how many times later their worst wakeup is than that of the median board; which of it is chance, `punctual report` says.
WITH runs AS (
    SELECT settings, load, coalesce(host, run) AS board, ln(greatest(max(max_ns), 1)) AS latest
    FROM fleet WHERE doubt IS NULL AND max_ns IS NOT NULL
    GROUP BY settings, load, host, run
), boards AS (
    SELECT settings, load, board, count(*) AS runs, median(latest) AS latest FROM runs GROUP BY ALL
), middles AS (
    SELECT settings, load, count(*) AS boards, median(latest) AS middle FROM boards GROUP BY ALL
)
SELECT board, load, settings, runs, boards,
       exp(latest) / 1e3          AS latest_us,
       exp(middle) / 1e3          AS median_us,
       exp(latest - middle)       AS ratio
FROM boards JOIN middles USING (settings, load)
ORDER BY ratio DESC;
