#!/usr/bin/env python3
"""Runs commands of shell/testdata/day-commands.jsonl as an agent does: one sbx run after the other, whatever each gives.

usage: day-loop.py COMMANDS GO-PROJECT NODE-PROJECT COUNT RECORD

Takes those for go and node, and of git's as many as COUNT needs; RECORD has a line for each, and "done" at the end.
"""
import json
import subprocess
import sys
import time

commands, go, node, count, record = sys.argv[1:]
rows = [json.loads(line) for line in open(commands)]
first = [r for r in rows if r["project"] in ("go", "node")]
more = [r for r in rows if r["project"] == "git" and r["class"] != "danger"]
chosen = (first + more)[:int(count)]
with open(record, "w", buffering=1) as out:
    for n, row in enumerate(chosen, 1):
        at = {"node": node}.get(row["project"], go)
        print(f"\n[{n}/{len(chosen)}] $ {row['command']}", flush=True)
        begin = time.monotonic()
        ended = subprocess.run(["sbx", "run", "--agent-name", "loop", "--timeout", "2m", "-c", row["command"]], cwd=at,
                               stdin=subprocess.DEVNULL)
        out.write(f"{row['id']} exit {ended.returncode} {time.monotonic() - begin:.1f} s {row['command'].splitlines()[0]}\n")
    out.write("done\n")
