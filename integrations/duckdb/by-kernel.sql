-- Kernels beside each other under the same settings and load. One board is one sample: the median of its runs counts.
WITH runs AS (
    SELECT settings, load, kernel, host, run, max(max_ns) AS latest
    FROM fleet WHERE doubt IS NULL AND max_ns IS NOT NULL
    GROUP BY ALL
), boards AS (
    SELECT settings, load, kernel, host, median(latest) AS latest FROM runs GROUP BY ALL
)
SELECT settings, load, kernel,
       count(*)                             AS boards,
       median(latest) / 1e3                 AS median_us,
       quantile_cont(latest, 0.9) / 1e3     AS p90_us,
       max(latest) / 1e3                    AS worst_us
FROM boards
GROUP BY ALL
ORDER BY settings, load, median_us;
