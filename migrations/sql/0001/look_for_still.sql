-- Look at up to p_limit workflows in motion, on from where the last look ended and round again, and return those of
-- which nothing is in the run queue. p_go_on: the next look begins behind this one.
create or replace function remand.look_for_still(p_limit int, p_go_on boolean) returns setof uuid
language plpgsql set enable_seqscan = off as $$
declare
  v_template int; v_created timestamptz; v_id uuid; v_seen int;
begin
  select s.after_template, s.after_created_at, s.after_id into v_template, v_created, v_id from remand.staleness_state s;
  for v_round in 1..2 loop
    create temp table if not exists still_looked (template_id int, created_at timestamptz, id uuid) on commit drop;
  end loop;
end $$;
