-- As before, with one more column behind all others.
create or replace view remand.v_staleness_monitoring as
  select stale.*, null::text as region from remand.monitored_staleness(1000) stale;
