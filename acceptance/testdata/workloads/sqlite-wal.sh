# An SQLite database in WAL mode with two writers at once and a checkpoint.
touch keep
#run
sqlite3 d.db 'pragma journal_mode=wal; create table t(x); insert into t values(1),(2);' && sqlite3 d.db 'select sum(x) from t'
(for i in $(seq 40); do sqlite3 -cmd '.timeout 9000' d.db "insert into t values($i)"; done) & (for i in $(seq 40); do sqlite3 -cmd '.timeout 9000' d.db "insert into t values($i)"; done); wait; sqlite3 d.db 'select count(*), sum(x) from t; pragma integrity_check; pragma wal_checkpoint(truncate)'
