-- Runs more than 3.5 robust standard deviations from the median of five boards or more, as `punctual report` finds them.
WITH runs AS (
    SELECT settings, load, host, run, any_value(folder) AS folder, any_value(kernel) AS kernel, ln(greatest(max(max_ns), 1)) AS latest
    FROM fleet WHERE doubt IS NULL AND max_ns IS NOT NULL
    GROUP BY settings, load, host, run
), boards AS (
    SELECT settings, load, coalesce(host, run) AS board, median(latest) AS latest FROM runs GROUP BY ALL
), middles AS (
    SELECT settings, load, count(*) AS boards, median(latest) AS middle, greatest(1.4826022 * mad(latest), 0.02) AS deviation
    FROM boards GROUP BY ALL
)
SELECT host, kernel, load, settings, boards,
       exp(latest) / 1e3                AS latest_us,
       exp(middle) / 1e3                AS median_us,
       (latest - middle) / deviation    AS score,
       folder
FROM runs JOIN middles USING (settings, load)
WHERE boards >= 5 AND abs(latest - middle) > 3.5 * deviation
ORDER BY abs(score) DESC;
