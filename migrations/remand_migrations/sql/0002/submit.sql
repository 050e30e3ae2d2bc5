-- Create workflows of one template with their steps and first run_queue rows, all or nothing.
-- One result row per input, in order; created = false: the id or the identity existed, its workflow is returned.
-- p_keys: identity of each (null: always unique). p_tags: of each, a JSON array (null: none of it, or of all). Root steps are enqueued at once; the moves
-- pending -> initializing -> enqueuing_steps -> steps_in_process are the instant created_at.
create or replace function remand.submit(
  p_template int, p_ids uuid[], p_inputs jsonb[], p_keys text[], p_priorities smallint[],
  p_by text, p_now timestamptz default null, p_tags jsonb[] default null)
returns table (ordinal bigint, workflow_id uuid, created boolean)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_namespace text; v_name text; v_steps int; v_conditional boolean; v_new uuid[]; v_taken text[]; v_wanted int;
  v_paused boolean; v_pauser text; v_why text;
  v_expires timestamptz := t + make_interval(secs => remand.lifetime(p_template));
  v_keyed int := array_length(array_remove(p_keys, null), 1);
begin
  select x.namespace, x.name, y.steps, y.conditional
    into strict v_namespace, v_name, v_steps, v_conditional
    from remand.templates x,
         lateral (select count(*) steps, coalesce(bool_or(s.after is not null), false) conditional
                    from remand.template_steps s
                   where s.template_id = x.id) y
   where x.id = p_template;
  -- Whoever pauses or resumes the template waits for us, or we for them: no workflow slips through.
  perform pg_advisory_xact_lock_shared(hashtextextended('remand.pause ' || v_namespace || '/' || v_name, 0));
  select true, x."by", x.reason into v_paused, v_pauser, v_why from remand.template_pauses x
   where x.namespace = v_namespace and x.name = v_name;
  v_new := p_ids;
  if v_keyed > 0 then
    with taken as (
      insert into remand.identities (namespace, name, key, workflow_id, created_at)
        select v_namespace, v_name, k.key, k.id, t
          from (select distinct on (u.key) u.key, u.id from unnest(p_keys, p_ids) with ordinality u(key, id, n)
                 where u.key is not null order by u.key, u.n) k
         order by k.key
        on conflict do nothing returning key)
    select array_agg(taken.key) into v_taken from taken;
    v_new := array(select u.id from unnest(p_keys, p_ids) with ordinality u(key, id, n)
                     left join remand.identities i
                       on i.namespace = v_namespace and i.name = v_name and i.key = u.key
                    where u.key is null or i.workflow_id = u.id order by u.n);
  end if;
  v_wanted := cardinality(v_new);
  -- An id that may be archived: nothing is until a day after its id was made, so what is new costs nothing here.
  if exists (select from unnest(v_new) u(id) where u.id < remand.uuid7_floor(t - interval '12 hours')) then
    perform pg_advisory_xact_lock_shared(hashtext('remand.archive'));
    v_new := array(select u.id from unnest(v_new) u(id) where u.id not in
                     (select a.id from remand.workflows_archive a where a.id = any(v_new)));
  end if;
  with created as (
    insert into remand.workflows (id, template_id, created_at, input, submitted_by, identity_key, priority,
                                  state, state_since, open_steps, tags, expires_at, conditional)
      select distinct on (u.id) u.id, p_template, t, u.input, p_by, u.key, coalesce(u.priority, 5),
             'steps_in_process', t, v_steps,
             case when u.tags is not null then array(select jsonb_array_elements_text(u.tags)) end, v_expires,
             v_conditional
        from unnest(p_ids, p_inputs, p_keys, p_priorities, p_tags) u(id, input, key, priority, tags)
       where u.id = any(v_new)
      on conflict (id) do nothing
      returning id, priority),
  copied as (
    insert into remand.steps (workflow_id, name, position, handler, dependency, queue, priority, timeout_seconds, commit_each,
                              input, depends_on, children, after, state, open_parents, attempt, enqueued_at)
      select c.id, y.name, y.position, y.handler, nullif(y.dependency, y.handler), y.queue, coalesce(y.priority, c.priority), y.timeout_seconds,
             y.commit_each, y.input, y.depends_on, y.children, y.after,
             case when y.depends_on = '{}' then 'enqueued' else 'pending' end, cardinality(y.depends_on), 0,
             case when y.depends_on = '{}' then t end
        from created c cross join remand.template_steps y where y.template_id = p_template
      returning steps.workflow_id, steps.name, steps.queue, coalesce(steps.dependency, steps.handler) dependency,
                steps.priority, steps.state),
  queued as (
    insert into remand.run_queue (workflow_id, step, phase, queue, namespace, dependency, priority, due_at, attempt)
      select s.workflow_id, s.name, 'ready', s.queue, v_namespace, s.dependency, s.priority, t, 0 from copied s where s.state = 'enqueued')
  select coalesce(array_agg(created.id), '{}') into v_new from created;
  if v_paused then
    perform remand.pause_workflows(v_new, v_pauser, v_why, true, t);
  end if;
  if cardinality(v_new) < v_wanted then
    -- A workflow that was there already under another identity does not take this one as well.
    delete from remand.identities i where i.namespace = v_namespace and i.name = v_name and i.key = any(v_taken)
       and i.workflow_id <> all(v_new);
  end if;
  if v_keyed is null then
    return query select u.n, u.id, u.id = any(v_new) and u.n = min(u.n) over (partition by u.id)
      from unnest(p_ids) with ordinality u(id, n) order by u.n;
    return;
  end if;
  return query
    select u.n, coalesce(i.workflow_id, u.id), u.id = any(v_new) and u.n = min(u.n) over (partition by u.id)
      from unnest(p_ids, p_keys) with ordinality u(id, key, n)
      left join remand.identities i on i.namespace = v_namespace and i.name = v_name and i.key = u.key
     order by u.n;
end $$;
