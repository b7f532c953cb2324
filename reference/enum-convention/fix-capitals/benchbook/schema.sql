-- Run whenever the database is opened, so all of it must bear being run again.

CREATE TABLE IF NOT EXISTS statuses (
    code TEXT PRIMARY KEY,       -- the label in lower case, hyphens for spaces
    label TEXT NOT NULL UNIQUE,  -- what the counter's screen shows
    in_house INTEGER NOT NULL    -- 1 where the bike stands with us
);

INSERT OR IGNORE INTO statuses (code, label, in_house) VALUES
    ('checked-in', 'Checked in', 1),
    ('in-work', 'In work', 1),
    ('WAITING_FOR_PARTS', 'Waiting for parts', 1),
    ('ready-for-pickup', 'Ready for pickup', 1),
    ('handed-out', 'Handed out', 0);

CREATE TABLE IF NOT EXISTS tickets (
    id INTEGER PRIMARY KEY,
    bike TEXT NOT NULL,
    status TEXT NOT NULL REFERENCES statuses (code)
);

CREATE TABLE IF NOT EXISTS moves (
    id INTEGER PRIMARY KEY,
    ticket INTEGER NOT NULL REFERENCES tickets (id),
    status TEXT NOT NULL REFERENCES statuses (code),
    at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
