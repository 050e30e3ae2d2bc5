"""Durable steps for Celery: what a user's code imports.

Handlers are marked with `@handler` and take a `StepContext`; what they raise is judged by `remand.classify`; other
Celery apps talk to the service through `Client`. Standard library and Celery only: nothing of the service comes along.
"""
