-- Dead letters, a row for each reason that ever was: a stable interface for people's own SQL. True to this
-- moment, at the cost of how many kinds of letters there are: what is not added up yet is read with the rest.
-- It says what `remand dlq stats` says.
create or replace view remand.v_dlq_dashboard as
  with kind as (
    select counted.reason, counted.status, counted.now, counted.ever, counted.opened, counted.closed,
           counted.closed_seconds
      from remand.dead_letter_counts counted
    union all
    select delta.reason, delta.status, delta.amount, greatest(delta.amount, 0), delta.opened, delta.closed,
           delta.closed_seconds
      from remand.dead_letter_deltas delta),
  by_reason as (
    select kind.reason,
           coalesce(sum(kind.now) filter (where kind.status in ('pending', 'investigating')), 0)::bigint
             as open,
           coalesce(sum(kind.now) filter (where kind.status = 'pending'), 0)::bigint as pending,
           coalesce(sum(kind.now) filter (where kind.status = 'investigating'), 0)::bigint as investigating,
           coalesce(sum(kind.now) filter (where kind.status = 'requeued'), 0)::bigint as requeued,
           coalesce(sum(kind.now) filter (where kind.status = 'manually_resolved'), 0)::bigint
             as manually_resolved,
           coalesce(sum(kind.now) filter (where kind.status = 'permanently_failed'), 0)::bigint
             as permanently_failed,
           coalesce(sum(kind.now) filter (where kind.status = 'cancelled'), 0)::bigint as cancelled,
           sum(kind.now)::bigint as kept,
           sum(kind.opened)::bigint as opened_ever,
           sum(kind.closed)::bigint as closed_ever,
           coalesce(sum(kind.ever) filter (where kind.status = 'requeued'), 0)::bigint as requeues_ever,
           sum(kind.closed_seconds) / nullif(sum(kind.closed), 0) as mean_seconds_to_close
      from kind
     group by kind.reason)
  select by_reason.*,
         (select letter.opened_at
            from remand.dead_letters letter
           where letter.reason = by_reason.reason
             and letter.status in ('pending', 'investigating')
           order by letter.id
           limit 1) as oldest_open_at,
         (select letter.opened_at
            from remand.dead_letters letter
           where letter.reason = by_reason.reason
             and letter.status in ('pending', 'investigating')
           order by letter.id desc
           limit 1) as newest_open_at
    from by_reason;
comment on view remand.v_dlq_dashboard
  is 'Dead letters by reason: how many are open, how each kept one was closed, how many there ever were.';
comment on column remand.v_dlq_dashboard.reason is 'why the letters were opened';
comment on column remand.v_dlq_dashboard.open is 'open now: pending and investigating';
comment on column remand.v_dlq_dashboard.pending is 'of them, nobody looks at';
comment on column remand.v_dlq_dashboard.investigating is 'of them, somebody looks at';
comment on column remand.v_dlq_dashboard.requeued is 'kept ones that were closed by sending their steps back';
comment on column remand.v_dlq_dashboard.manually_resolved is 'kept ones that were repaired by hand';
comment on column remand.v_dlq_dashboard.permanently_failed is 'kept ones that were given up';
comment on column remand.v_dlq_dashboard.cancelled is 'kept ones whose workflow was cancelled';
comment on column remand.v_dlq_dashboard.kept
  is 'all that are kept, open and closed: closed ones go after `retention.letters_days`';
comment on column remand.v_dlq_dashboard.opened_ever is 'letters ever opened, whether or not they are kept';
comment on column remand.v_dlq_dashboard.closed_ever
  is 'times that one was closed; one that was opened again may be closed twice';
comment on column remand.v_dlq_dashboard.requeues_ever
  is 'times that one was closed by sending its steps back';
comment on column remand.v_dlq_dashboard.mean_seconds_to_close
  is 'seconds from opened to closed, mean of all ever closed; null: none was';
comment on column remand.v_dlq_dashboard.oldest_open_at
  is 'when the oldest open one was opened; null: none is open';
comment on column remand.v_dlq_dashboard.newest_open_at
  is 'when the newest open one was opened; null: none is open';
