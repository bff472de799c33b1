"""What supervisor and link have agreed on: names in the run directory, and bytes on the control connection."""

EVENTS = "events.jsonl"
CONTROL = "control"  # the socket where later clients connect

CANCEL = b"c"  # client to supervisor
BELL = b"."  # supervisor to client: the event file has grown
