-- The tables of a store (docs/STORE.md). connection.py fills in what stands in braces.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE run (
    id TEXT PRIMARY KEY,
    experiment TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    seed BIGINT NOT NULL,
    plan TEXT NOT NULL,
    host TEXT NOT NULL
);
CREATE TABLE source (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL
);
CREATE TABLE trial (
    id {number},
    run_id TEXT NOT NULL REFERENCES run (id),
    block INTEGER NOT NULL,
    position INTEGER NOT NULL,
    contender TEXT NOT NULL,
    point TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL,
    started_at TEXT NOT NULL,
    cpus TEXT NOT NULL,
    outcome_line TEXT NOT NULL,
    phases TEXT NOT NULL,
    marks TEXT NOT NULL,
    missing TEXT NOT NULL
);
CREATE TABLE timeline (
    trial_id BIGINT PRIMARY KEY REFERENCES trial (id),
    samples TEXT NOT NULL
);
CREATE INDEX trial_run ON trial (run_id);
-- A cell has one trial in a block, besides those that must be repeated.
CREATE UNIQUE INDEX trial_once ON trial (run_id, block, contender, point) WHERE outcome NOT IN ({repeatable});
INSERT INTO meta (key, value) VALUES ('format', '{format}');
