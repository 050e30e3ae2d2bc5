"""Redrives: what somebody decided to do with many dead letters, and what became of each."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from remand_app.domain.redrive import ItemState, RedriveState, RedriveVerb
from remand_app.store.tables.columns import column, instant, json, metadata, one_of

_NONE = sa.text("0")

redrives = sa.Table(
    "redrives",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("state", sa.Text, "planned, pending, canary, running, paused, stopped, cancelled or finished"),
    column("state_since", instant, "instant of the last move"),
    column("verb", sa.Text, "what is done with each letter"),
    column("selection", json, "the filter as given"),
    column("described", sa.Text, "the filter in words"),
    column("planned_at", instant, "when the set was fixed"),
    column("planned_by", sa.Text, "who fixed it"),
    column("started_at", instant, "when it was started; null: not yet", nullable=True),
    column("started_by", sa.Text, "who started it: acts on the letters", nullable=True),
    column("via", sa.Text, "the door it was started through", nullable=True),
    column("reason", sa.Text, "why, in a person's words", nullable=True),
    column("ended_at", instant, "when it was finished or cancelled", nullable=True),
    column("stop_reason", sa.Text, "why it stands still or was cancelled", nullable=True),
    column("include_claimed", sa.Boolean, "true: letters that others have claimed, too"),
    column("queue", sa.Text, "where the failed steps run; null: their own", nullable=True),
    column("priority", sa.SmallInteger, "0-9 for the failed steps; null: their own", nullable=True),
    column("rate_per_second", sa.Float, "letters a second; null: not limited", nullable=True),
    column("paced_at", instant, "up to when its rate is used up", nullable=True),
    column("not_before", instant, "it begins no earlier", nullable=True),
    column("code_version", sa.Text, "it begins once every live worker runs it", nullable=True),
    column("canary", ARRAY(sa.Integer), "letters sent one stage after the other before the rest"),
    column("success_share", sa.Float, "share of a canary that must succeed"),
    column("stage", sa.Integer, "canary under way, from 0; all of them done: the rest", server_default=_NONE),
    column("stage_sent", sa.Integer, "letters sent in this stage", server_default=_NONE),
    column("stage_succeeded", sa.Integer, "of them succeeded", server_default=_NONE),
    column("stage_failed", sa.Integer, "of them failed", server_default=_NONE),
    column("sent_at", instant, "when letters were sent last", nullable=True),
    column(
        "followed", sa.Integer, "position behind which outcomes are looked for next", server_default=_NONE
    ),
    column("total", sa.Integer, "letters of the set", server_default=_NONE),
    column("waiting", sa.Integer, "not sent yet", server_default=_NONE),
    column("sent", sa.Integer, "sent, outcome not known yet", server_default=_NONE),
    column("succeeded", sa.Integer, "what had failed went well", server_default=_NONE),
    column("failed", sa.Integer, "failed again", server_default=_NONE),
    column("skipped", sa.Integer, "left alone, with a reason", server_default=_NONE),
    column("not_found", sa.Integer, "no such letter", server_default=_NONE),
    one_of("state", RedriveState, "state_known"),
    one_of("verb", RedriveVerb, "verb_known"),
    sa.CheckConstraint("rate_per_second > 0", name="rate_is_positive"),
    sa.CheckConstraint("priority BETWEEN 0 AND 9", name="priority_range"),
    sa.CheckConstraint("success_share > 0 AND success_share <= 1", name="share_is_a_share"),
    sa.CheckConstraint("(started_at IS NULL) = (started_by IS NULL)", name="started_by_whom"),
    sa.CheckConstraint(
        "(ended_at IS NOT NULL) = (state IN ('finished', 'cancelled'))", name="ended_means_over"
    ),
    sa.CheckConstraint(
        "total = waiting + sent + succeeded + failed + skipped + not_found", name="every_letter_counted"
    ),
    sa.Index(
        "redrives_moving",
        "id",
        postgresql_where=sa.text("state IN ('planned', 'pending', 'canary', 'running')"),
    ),
    sa.Index("redrives_ended", "ended_at", postgresql_where=sa.text("ended_at IS NOT NULL")),
    comment="Decisions about many dead letters: durable orders that sweeps carry out.",
)

redrive_items = sa.Table(
    "redrive_items",
    metadata,
    column("redrive_id", sa.Uuid, "redrives.id"),
    column("position", sa.Integer, "order, from 1"),
    column("letter_id", sa.Uuid, "dead_letters.id as given"),
    column("workflow_id", sa.Uuid, "its workflow; null: no such letter", nullable=True),
    column("state", sa.Text, "waiting, sent, succeeded, failed, skipped or not_found"),
    column("reason", sa.Text, "why it was skipped, how it failed", nullable=True),
    column("at", instant, "instant of the last move"),
    column("sent_at", instant, "when the verb was done", nullable=True),
    column("steps", ARRAY(sa.Text), "steps that were sent back", nullable=True),
    column("new_letter_id", sa.Uuid, "the letter it failed with", nullable=True),
    sa.PrimaryKeyConstraint("redrive_id", "position"),
    sa.UniqueConstraint("redrive_id", "letter_id"),
    sa.ForeignKeyConstraint(["redrive_id"], ["remand.redrives.id"], ondelete="CASCADE"),
    one_of("state", ItemState, "state_known"),
    sa.CheckConstraint("(state = 'not_found') = (workflow_id IS NULL)", name="not_found_has_no_workflow"),
    sa.CheckConstraint(
        "state NOT IN ('sent', 'succeeded', 'failed') OR sent_at IS NOT NULL", name="sent_when"
    ),
    sa.Index(
        "redrive_items_waiting", "redrive_id", "position", postgresql_where=sa.text("state = 'waiting'")
    ),
    sa.Index("redrive_items_sent", "redrive_id", "position", postgresql_where=sa.text("state = 'sent'")),
    sa.Index("redrive_items_failed", "redrive_id", "position", postgresql_where=sa.text("state = 'failed'")),
    comment="The exact set of a redrive, fixed when it was planned, and what became of each letter.",
)
