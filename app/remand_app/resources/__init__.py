"""What every door shows and does: one value, one filter and one table of verbs for each noun.

A door is one of the API, the command line, the dashboard and the commands over Celery. Doors stand above this
package and use nothing else. `<noun>.py` reads the public values of a noun, masked, as JSON and pages show
them. `verbs.py` is the table of what people can do; `state_tones.py` and `wording.py` have colours, words and
durations.
"""
