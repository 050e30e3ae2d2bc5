"""Users and tokens, as every door shows them: who may sign in, and as what."""

from app.store.access import Token, User, list_tokens, list_users, role_of

__all__ = ["Token", "User", "list_tokens", "list_users", "role_of"]
