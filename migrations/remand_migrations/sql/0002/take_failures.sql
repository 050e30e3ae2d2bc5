-- Lock up to p_k failed attempts of a retry queue together with their workflows, for the caller to decide on in
-- the same transaction. Rows that somebody else holds are skipped, never waited for; a paused queue has none.
-- passed: a breaker had let the attempt through.
create or replace function remand.take_failures(p_queue text, p_k int)
returns table (workflow_id uuid, step text, attempt int, outcome text, failures int, lost_attempts int,
               failure jsonb, template_id int, handler text, queue text, worker uuid, policy text,
               failing_since timestamptz, passed boolean)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if exists (select from remand.pauses z where z.queue = p_queue) then return; end if;
  return query
  with due as (
    select q.workflow_id w, q.step n, q.attempt a, q.gate is not null passed from remand.run_queue q
     where q.queue = p_queue and q.phase = 'failed'
     order by q.due_at, q.workflow_id, q.step limit p_k for update skip locked),
  flow as (
    select f.id, f.template_id from remand.workflows f
     where f.id in (select d.w from due d) order by f.id for update skip locked)
  select d.w, d.n, d.a, x.outcome, s.failures, s.lost_attempts, s.failure, f.template_id, s.handler, s.queue, x.worker, x.policy,
         s.failing_since, d.passed
    from due d join flow f on f.id = d.w
    join remand.steps s on s.workflow_id = d.w and s.name = d.n
    join remand.attempts x on x.workflow_id = d.w and x.step = d.n and x.attempt = d.a
   order by d.w, d.n;
end $$;
