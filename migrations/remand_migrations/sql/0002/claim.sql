-- Claim up to p_k due steps of a queue for one process of a worker: enqueued -> in_progress, attempt + 1, lease.
-- Nothing from a paused queue; nothing that a breaker has not let through while it gates its dependency.
-- A suspect (a process died holding it) is claimed alone, so that a poison step harms nobody else.
-- parents: their results by name; '"stored"' if they are too large to come along (a value has at most 256 MB).
create or replace function remand.claim(
  p_queue text, p_k int, p_worker uuid, p_pid int, p_timeout float, p_slack float, p_now timestamptz default null,
  p_turn int default 0)
returns table (workflow_id uuid, step text, attempt int, handler text, timeout_seconds float, commit_each boolean,
               input jsonb, parents jsonb, checkpoint jsonb, lease_until timestamptz, template_id int,
               waited_seconds float)
language plpgsql set enable_seqscan = off set jit = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_gated text[]; v_paused boolean; v_lane record; v_lanes int; v_got int := 0;
  v_workflows uuid[] := '{}'; v_steps text[] := '{}'; v_suspects boolean[] := '{}';
  w uuid[]; n text[]; s boolean[];
begin
  select g.gated, g.paused into v_gated, v_paused from remand.gates(p_queue) g;
  if v_paused then return; end if;
  for v_pass in 1..2 loop
    v_lanes := 0;
    for v_lane in select * from remand.lanes(p_queue, case v_pass when 1 then p_turn else 0 end, t) loop
      v_lanes := v_lanes + 1;
      select x.workflows, x.steps, x.suspects into w, n, s
        from remand.take_lane(p_queue, v_lane.namespace, v_lane.priority, v_lane.newest_first,
               case v_pass when 1 then ceil((p_k - v_got)::float / v_lane.share)::int else p_k - v_got end,
               v_gated, v_workflows, v_steps, t) x;
      v_workflows := v_workflows || w; v_steps := v_steps || n; v_suspects := v_suspects || s;
      v_got := cardinality(v_workflows);
      exit when v_got >= p_k;
    end loop;
    -- What one lane left of its share another takes: fewer than asked for means that the queue is dry.
    exit when v_got >= p_k or v_lanes = 0 or (v_lanes = 1 and p_turn % 4 < 2);
  end loop;
  if v_got = 0 then return; end if;
  return query
  with picked as (
    select d.w, d.n from unnest(v_workflows, v_steps, v_suspects) with ordinality d(w, n, suspect, rank)
     where case when v_suspects[1] then d.rank = 1 else not d.suspect end),
  begun as (
    update remand.steps s set state = 'in_progress', attempt = s.attempt + 1, started_at = t, worker = p_worker
      from picked p where s.workflow_id = p.w and s.name = p.n and s.state = 'enqueued'
    returning s.workflow_id w, s.name n, s.attempt, s.handler, coalesce(s.timeout_seconds, p_timeout) seconds,
              s.commit_each, s.input, s.checkpoint, s.depends_on),
  held as (
    update remand.run_queue r
       set phase = 'claimed', worker = p_worker, pid = p_pid, attempt = b.attempt,
           lease_until = t + make_interval(secs => b.seconds + p_slack)
      from begun b where r.workflow_id = b.w and r.step = b.n
    returning r.workflow_id w, r.step n, r.lease_until, extract(epoch from t - r.due_at)::float waited)
  select b.w, b.n, b.attempt, b.handler, b.seconds, b.commit_each, coalesce(b.input, f.input),
         (select case when max(x.bytes) > 500000 then '"stored"'
                      else jsonb_object_agg(x.name, x.result) filter (where x.bytes <= 500000) end
            from (select parent.name, parent.result,
                         sum(coalesce(pg_column_size(parent.result), 0)) over () bytes
                    from unnest(b.depends_on) named(name),
                         -- "offset 0": each parent by its whole key; a join would read all steps of the workflow.
                         lateral (select s.name, s.result
                                    from remand.steps s
                                   where s.workflow_id = b.w
                                     and s.name = named.name
                                  offset 0) parent) x),
         b.checkpoint, h.lease_until, f.template_id, h.waited
    from begun b join held h on h.w = b.w and h.n = b.n join remand.workflows f on f.id = b.w;
end $$;
