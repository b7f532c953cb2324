-- Run whenever the database is opened, so all of it must bear being run again.

CREATE TABLE IF NOT EXISTS statuses (
    code TEXT PRIMARY KEY,       -- the label in lower case, hyphens for spaces
    label TEXT NOT NULL UNIQUE,  -- what the counter's screen shows
    in_house INTEGER NOT NULL    -- 1 where the bike stands with us
);

INSERT OR IGNORE INTO statuses (code, label, in_house) VALUES
    ('checked-in', 'Checked in', 1),
    ('in-work', 'In work', 1),
    ('waiting-for-parts', 'Waiting for parts', 1),
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

CREATE TABLE IF NOT EXISTS ways (
    command TEXT NOT NULL,
    before TEXT NOT NULL REFERENCES statuses (code),
    after TEXT NOT NULL REFERENCES statuses (code),
    PRIMARY KEY (command, before)
);

INSERT OR IGNORE INTO ways (command, before, after) VALUES
    ('start', 'checked-in', 'in-work'),
    ('start', 'waiting-for-parts', 'in-work'),
    ('wait', 'in-work', 'waiting-for-parts'),
    ('finish', 'in-work', 'ready-for-pickup'),
    ('hand-out', 'ready-for-pickup', 'handed-out');

CREATE TRIGGER IF NOT EXISTS ticket_opened AFTER INSERT ON tickets BEGIN
    INSERT INTO moves (ticket, status) VALUES (new.id, new.status);
END;

CREATE TRIGGER IF NOT EXISTS ticket_moved AFTER UPDATE OF status ON tickets BEGIN
    INSERT INTO moves (ticket, status) VALUES (new.id, new.status);
END;
