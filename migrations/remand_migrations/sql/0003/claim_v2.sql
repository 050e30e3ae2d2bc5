-- Claim up to p_k due steps of a queue for a process: enqueued -> in_progress, attempt + 1, lease.
-- gates -> choose, lane by lane in the order of this turn -> begin, and read what they are to work on.
-- Nothing from a paused queue; nothing that a breaker has not let through while it gates its dependency.
-- A suspect (a process died holding it) is claimed alone, so that a poison step harms nobody else.
-- p_turn, p_starving_seconds: see `claim_order`. p_inline_bytes: see `parents_of`.
create or replace function remand.claim_v2(
  p_queue text, p_k int, p_worker uuid, p_pid int, p_timeout float, p_slack float, p_turn int,
  p_starving_seconds float, p_inline_bytes int, p_now timestamptz default null)
returns table (workflow_id uuid, step text, attempt int, handler text, timeout_seconds float,
               commit_each boolean, input jsonb, parents jsonb, checkpoint jsonb, lease_until timestamptz,
               template_id int, waited_seconds float)
language plpgsql set enable_seqscan = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set search_path = pg_catalog, pg_temp as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_gated text[]; v_paused boolean;
  v_lane record; v_lanes int; v_taken record; v_chosen int := 0;
  v_workflows uuid[] := '{}'; v_steps text[] := '{}'; v_suspects boolean[] := '{}';
begin
  -- Gates.
  select gates.gated, gates.paused into v_gated, v_paused from remand.queue_gates(p_queue) gates;
  if v_paused then return; end if;

  -- Choose: in the first round each lane as far as its share goes; what one left of it another takes in the
  -- second, by priority: fewer than asked for means that the queue is dry.
  for v_round in 1..2 loop
    v_lanes := 0;
    for v_lane in
      select *
        from remand.claim_order(
          p_queue, case v_round when 1 then p_turn else 0 end, p_starving_seconds, v_now)
    loop
      v_lanes := v_lanes + 1;
      select * into v_taken
        from remand.claim_lane(
          p_queue, v_lane.namespace, v_lane.priority, v_lane.newest_first,
          case v_round when 1 then ceil((p_k - v_chosen)::float / v_lane.share)::int else p_k - v_chosen end,
          v_gated, v_workflows, v_steps, v_now);
      v_workflows := v_workflows || v_taken.workflows;
      v_steps := v_steps || v_taken.steps;
      v_suspects := v_suspects || v_taken.suspects;
      v_chosen := cardinality(v_workflows);
      exit when v_chosen >= p_k;
    end loop;
    exit when v_chosen >= p_k or v_lanes = 0 or (v_lanes = 1 and p_turn % 4 < 2);
  end loop;
  if v_chosen = 0 then return; end if;

  -- Begin, and read.
  return query
  with chosen as (
    select candidate.workflow_id, candidate.name, candidate.rank
      from unnest(v_workflows, v_steps, v_suspects)
             with ordinality candidate(workflow_id, name, suspect, rank)
     where case when v_suspects[1] then candidate.rank = 1 else not candidate.suspect end
  ),
  begun as (
    update remand.steps step
       set state = 'in_progress', attempt = step.attempt + 1, started_at = v_now, worker = p_worker
      from chosen
     where step.workflow_id = chosen.workflow_id
       and step.name = chosen.name
       and step.state = 'enqueued'
    returning step.workflow_id, step.name, step.attempt, step.handler, step.commit_each, step.input,
              step.depends_on, step.checkpoint, chosen.rank,
              coalesce(step.timeout_seconds, p_timeout) as seconds
  ),
  held as (
    update remand.run_queue queued
       set phase = 'claimed', worker = p_worker, pid = p_pid, attempt = begun.attempt,
           lease_until = v_now + make_interval(secs => begun.seconds + p_slack)
      from begun
     where queued.workflow_id = begun.workflow_id
       and queued.step = begun.name
    returning begun.*, queued.lease_until, queued.due_at
  )
  select held.workflow_id, held.name, held.attempt, held.handler, held.seconds, held.commit_each,
         coalesce(held.input, flow.input), parents.results, held.checkpoint, held.lease_until,
         flow.template_id, extract(epoch from v_now - held.due_at)::float
    from held
    join remand.workflows flow on flow.id = held.workflow_id,
         lateral remand.parents_of(held.workflow_id, held.depends_on, p_inline_bytes) parents
   order by held.rank;
end $$;
