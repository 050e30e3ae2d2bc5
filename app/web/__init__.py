"""Own what every request meets before a page or an answer: who asks, what is refused, how errors look.

Both doors to the web, `api` and `dashboard`, stand on it and do not know each other. It knows no resource.
"""
