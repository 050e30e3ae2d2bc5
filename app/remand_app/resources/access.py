"""Users and tokens, as every door shows them: who may sign in, and as what."""

from remand_app.store.access import list_tokens, list_users, role_of

__all__ = ["list_tokens", "list_users", "role_of"]
