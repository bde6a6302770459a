-- Each board's latest wakeup by day: what has become worse?
SELECT host, load, date_trunc('day', make_timestamp((started_ns // 1000)::BIGINT)) AS day,
       count(DISTINCT run) AS runs,
       max(max_ns) / 1e3   AS worst_us
FROM fleet
WHERE doubt IS NULL AND started_ns IS NOT NULL
GROUP BY ALL
ORDER BY host, load, day;
