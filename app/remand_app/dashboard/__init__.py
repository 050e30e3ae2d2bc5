"""The dashboard: pages for people, in a browser; made on the server, readable without JavaScript.

`views.py` fills in templates and decides how things are shown; `routes/` has one file for each noun;
`drawing/` makes SVG from values; `live.py` tells browsers that something changed. A page never runs a query
that grows with history. Changes are forms (POST, with the session's CSRF token) that end in a redirect.
Templates: `base.html` is the frame. A page fills `content`, which is fetched again when something changes
(unless the page is shown with `show(live=False)`), and `still`, which keeps what somebody types. `parts.html`
has the macros: `chip(state)` a state as colour and word, `moment(at)` an instant, `field` and `form.filter`
for filters that live in the address, `pages(next)`, `empty(title, what)`, `act(...)` a change that opens in
place, with a preview if it has one, `reason()`, `token()`, `spark(values, label)`.
Lists: j and k select a row with `data-item`; `data-redrive` and `data-note` say where r and n lead.
"""
