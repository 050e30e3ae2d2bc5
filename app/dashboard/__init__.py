"""The dashboard: pages for people, in a browser; made on the server, readable without JavaScript.

`views.py` fills in templates and owns how things are shown; `routes/` has one file a noun; `drawing/` makes
SVG from values; `live.py` tells browsers that something changed. A page never runs a query that grows with
history. Changes are forms (POST, with the session's CSRF token) that end in a redirect.
Templates: `base.html` is the frame, `parts.html` the macros (chip, moment, filter, pages, act).
"""
