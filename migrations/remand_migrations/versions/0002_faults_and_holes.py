"""What the mending of faults needed: tables by hand, then the functions and views that differ from 0001.

Expand only: code of revision 0001 goes on beside it. A function whose arguments or result changed has a
new name, and the old one stays.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_SQL = Path(__file__).parent.parent / "sql" / revision
_BEFORE = _SQL.parent / down_revision
_BY_HAND = ("tables", "down")


def upgrade() -> None:
    _check_no_bodies()
    _run(_SQL / "tables.sql")
    for path in _functions_then_views():
        _run(path)
    _grant_views_to_reader()


def downgrade() -> None:
    _check_no_bodies()
    paths = _functions_then_views()
    for path in reversed(paths):
        if _is_view(path):
            op.execute(f"drop view remand.{path.stem}")
    for path in paths:
        if (_BEFORE / path.name).exists():
            _run(_BEFORE / path.name)
        elif not _is_view(path):
            op.execute(f"drop function remand.{path.stem}")
    _grant_views_to_reader()
    _run(_SQL / "down.sql")


def _functions_then_views() -> list[Path]:
    paths = sorted(path for path in _SQL.glob("*.sql") if path.stem not in _BY_HAND)
    return sorted(paths, key=_is_view)


def _is_view(path: Path) -> bool:
    return "create or replace view" in path.read_text()


def _check_no_bodies() -> None:
    """Let functions be made in any order: each may call one that comes later."""
    op.execute("set local check_function_bodies = off")


def _run(path: Path) -> None:
    text = path.read_text()
    if any(line.strip() and not line.startswith("--") for line in text.splitlines()):
        op.get_bind().exec_driver_sql(text.replace("%", "%%"))


def _grant_views_to_reader() -> None:
    """Let the role of those who watch, where there is one, read the views that were made anew."""
    op.execute(
        """
        do $$
        declare v_view text;
        begin
          if exists (select from pg_roles where rolname = 'remand_reader') then
            for v_view in
              select viewname from pg_views where schemaname = 'remand' and starts_with(viewname, 'v_')
            loop
              execute format('grant select on remand.%I to remand_reader', v_view);
            end loop;
          end if;
        end $$
        """
    )
