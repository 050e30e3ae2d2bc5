"""Which workflows may go to the archive, and which of a period stay: looked for, nothing is locked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from remand_app.domain.archive import Census, Stay
from remand_app.domain.partitions import Period
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at

_CLOCKS_DIFFER = timedelta(hours=1)
_FIRST, _LAST = UUID(int=0), UUID(int=(1 << 128) - 1)
_LOOK = """
with open_letters as materialized (
  select distinct letter.workflow_id
    from remand.dead_letters letter
   where letter.status in ('pending', 'investigating')
     and letter.workflow_id >= %(begin)s
     and letter.workflow_id < %(end)s),
judged as materialized (
  select workflow.id,
         coalesce(
           remand.archive_verdict(
             workflow.state, workflow.template_id, workflow.state_since, workflow.restored_at, %(cutoff)s,
             %(kept)s),
           case when open_letters.workflow_id is not null then 'letter' end) as why
    from remand.{table} workflow
    left join open_letters on open_letters.workflow_id = workflow.id
   where workflow.id >= %(begin)s
     and workflow.id < %(end)s)
select (select coalesce(jsonb_object_agg(coalesce(counted.why, 'go'), counted.workflows), '{{}}')
          from (select judged.why, count(*) as workflows
                  from judged
                 group by judged.why) counted),
       array(select judged.id
               from judged
              where judged.why is not null
              limit %(most)s),
       (select count(*)
          from remand.audit_log entry
         where entry.id >= %(audited_from)s
           and entry.workflow_id >= %(begin)s
           and entry.workflow_id < %(end)s)
"""
Between = tuple[UUID, UUID]
"""Ids, both exclusive."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which workflows may go to the archive."""

    cutoff: datetime
    """Workflows that ended, or were restored, after this instant stay."""
    kept: tuple[str, ...]
    """The outcomes that stay for good, as "template id:outcome"."""


@dataclass(frozen=True, slots=True)
class PeriodInspection:
    """What a look at a period found."""

    census: Census
    staying: tuple[UUID, ...]
    """The workflows that stay; no more than asked for."""
    audited_from: UUID
    audited: int
    """Entries of the audit log about its workflows, from the id `audited_from` on."""


def between(starts_at: datetime | None, ends_at: datetime | None) -> Between:
    """Return the ids between which the workflows of a stretch of time lie; None: no bound on that side."""
    low = _FIRST if starts_at is None else UUID(int=first_id_at(starts_at).int - 1)
    return low, _LAST if ends_at is None else first_id_at(ends_at)


def look(database: Database, period: Period, rule: Rule, most: int, now: datetime) -> PeriodInspection:
    """Count a live period's workflows that go and that stay; name up to `most` that stay. Transaction: own.

    Reads every workflow of the period, locks nothing. `now` is the server's clock.
    """
    audited_from = first_id_at(now - _CLOCKS_DIFFER)
    [(counts, staying, audited)] = database.call(
        _LOOK.format(table=f"workflows_{period.name}"),
        {
            "begin": first_id_at(period.starts_at),
            "end": first_id_at(period.ends_at),
            "cutoff": rule.cutoff,
            "kept": list(rule.kept),
            "most": most,
            "audited_from": audited_from,
        },
    )
    stay = {Stay(why): count for why, count in counts.items() if why != "go"}
    return PeriodInspection(Census(counts.get("go", 0), stay), tuple(staying), audited_from, audited)


def count_default(database: Database, between: Between, rule: Rule) -> int:
    """Count the workflows of the live default partition that may go. Transaction: own."""
    [(counted,)] = database.call(
        """
        select count(*)
          from remand.workflows_default workflow
         where workflow.id > %s
           and workflow.id < least(%s, remand.uuid7_floor(%s))
           and remand.archive_verdict(
                 workflow.state, workflow.template_id, workflow.state_since, workflow.restored_at, %s,
                 %s::text[]) is null
           and not exists (
                 select
                   from remand.dead_letters letter
                  where letter.workflow_id = workflow.id
                    and letter.status in ('pending', 'investigating'))
        """,
        (*between, rule.cutoff, rule.cutoff, list(rule.kept)),
    )
    return int(counted)


def due_of(database: Database, partition: str, between: Between, rule: Rule, limit: int) -> list[UUID]:
    """Return the first workflows of a live partition that a batch may move. Transaction: own; no lock."""
    rows = database.call(
        f"""
        select workflow.id
          from remand.workflows_{partition} workflow
         where workflow.id > %s
           and workflow.id < least(%s, remand.uuid7_floor(%s))
           and remand.archive_verdict(
                 workflow.state, workflow.template_id, workflow.state_since, workflow.restored_at, %s,
                 %s::text[]) is null
         order by workflow.id
         limit %s
        """,
        (*between, rule.cutoff, rule.cutoff, list(rule.kept), limit),
    )
    return [row[0] for row in rows]
