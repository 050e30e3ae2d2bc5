-- Dead letters, a row for each reason that ever was: a stable interface for people's own SQL. True to this moment, at
-- the cost of how many kinds of letters there are: what is not folded yet is added. It says what `remand dlq stats` says.
create or replace view remand.v_dlq_dashboard as
  with kinds as (
    select reason, status, now, ever, opened, closed, closed_seconds from remand.dead_letter_counts
    union all
    select reason, status, amount, greatest(amount, 0), opened, closed, closed_seconds from remand.dead_letter_deltas),
  reasons as (
    select reason,
           coalesce(sum(now) filter (where status in ('pending', 'investigating')), 0)::bigint open,
           coalesce(sum(now) filter (where status = 'pending'), 0)::bigint pending,
           coalesce(sum(now) filter (where status = 'investigating'), 0)::bigint investigating,
           coalesce(sum(now) filter (where status = 'requeued'), 0)::bigint requeued,
           coalesce(sum(now) filter (where status = 'manually_resolved'), 0)::bigint manually_resolved,
           coalesce(sum(now) filter (where status = 'permanently_failed'), 0)::bigint permanently_failed,
           coalesce(sum(now) filter (where status = 'cancelled'), 0)::bigint cancelled,
           sum(now)::bigint kept, sum(opened)::bigint opened_ever, sum(closed)::bigint closed_ever,
           coalesce(sum(ever) filter (where status = 'requeued'), 0)::bigint requeues_ever,
           sum(closed_seconds) / nullif(sum(closed), 0) mean_seconds_to_close
      from kinds group by reason)
  select r.*,
         (select d.opened_at from remand.dead_letters d
           where d.reason = r.reason and d.status in ('pending', 'investigating') order by d.id limit 1) oldest_open_at,
         (select d.opened_at from remand.dead_letters d
           where d.reason = r.reason and d.status in ('pending', 'investigating') order by d.id desc limit 1) newest_open_at
    from reasons r;
comment on view remand.v_dlq_dashboard is 'Dead letters by reason: how many are open, how each kept one was closed, how many there ever were.';
comment on column remand.v_dlq_dashboard.reason is 'why the letters were opened';
comment on column remand.v_dlq_dashboard.open is 'open now: pending and investigating';
comment on column remand.v_dlq_dashboard.pending is 'of them, nobody looks at';
comment on column remand.v_dlq_dashboard.investigating is 'of them, somebody looks at';
comment on column remand.v_dlq_dashboard.requeued is 'kept ones that were closed by sending their steps back';
comment on column remand.v_dlq_dashboard.manually_resolved is 'kept ones that were repaired by hand';
comment on column remand.v_dlq_dashboard.permanently_failed is 'kept ones that were given up';
comment on column remand.v_dlq_dashboard.cancelled is 'kept ones whose workflow was cancelled';
comment on column remand.v_dlq_dashboard.kept is 'all that are kept, open and closed: closed ones go after `retention.letters_days`';
comment on column remand.v_dlq_dashboard.opened_ever is 'letters ever opened, whether or not they are kept';
comment on column remand.v_dlq_dashboard.closed_ever is 'times that one was closed; one that was opened again may be closed twice';
comment on column remand.v_dlq_dashboard.requeues_ever is 'times that one was closed by sending its steps back';
comment on column remand.v_dlq_dashboard.mean_seconds_to_close is 'seconds from opened to closed, mean of all ever closed; null: none was';
comment on column remand.v_dlq_dashboard.oldest_open_at is 'when the oldest open one was opened; null: none is open';
comment on column remand.v_dlq_dashboard.newest_open_at is 'when the newest open one was opened; null: none is open';
