"""What every request passes before it reaches a route: who asks, what is refused, how errors look.

Both web interfaces, `api` and `dashboard`, use this package and do not know each other. It knows no resource.
"""
