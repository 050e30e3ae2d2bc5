"""What every door shows and does: one value, one filter and one table of verbs for each noun.

`<noun>.py` holds the public values of a noun, masked, as JSON and pages show them, and reads them. `verbs.py`
is the table of what people can do; `state_tones.py` and `wording.py` have colours, words and durations. The
API, the command line, the dashboard and the commands over Celery stand above this package and ask nothing
else.
"""
