-- The lines of `punctual report RUN… --format jsonl` as a table. Types are stated: a column that is empty in one file is not guessed.
CREATE OR REPLACE VIEW fleet AS
SELECT *
FROM read_json('fleet.jsonl', format = 'newline_delimited', columns = {
    run: 'VARCHAR', folder: 'VARCHAR', started_ns: 'UBIGINT', host: 'VARCHAR', board: 'VARCHAR', kernel: 'VARCHAR',
    kernel_version: 'VARCHAR', preemption: 'VARCHAR', settings: 'VARCHAR', duration_ns: 'UBIGINT', period_ns: 'UBIGINT',
    load: 'VARCHAR', cpu: 'UINTEGER', samples: 'UBIGINT', skipped: 'UBIGINT', p50_ns: 'UBIGINT', p99_ns: 'UBIGINT',
    p999_ns: 'UBIGINT', p9999_ns: 'UBIGINT', max_ns: 'UBIGINT', temperature_max_mc: 'BIGINT', cause: 'VARCHAR', doubt: 'VARCHAR',
    complete: 'BOOLEAN', outcome: 'VARCHAR'
});
