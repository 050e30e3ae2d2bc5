-- Create workflows of one template with their steps and first run_queue rows, all or nothing.
-- template -> take identities -> leave out archived ids -> create -> pause -> give unused identities back.
-- One result row per input, in order; created = false: the id or identity existed, its workflow is returned.
-- p_keys: identity of each (null: always unique). p_tags: of each, a JSON array (null: none of it, or of
-- any). p_fresh_hours: an id younger than that is not archived. Root steps are enqueued at once; the moves
-- pending -> initializing -> enqueuing_steps -> steps_in_process are the instant created_at.
create or replace function remand.submit_v2(
  p_template int, p_ids uuid[], p_inputs jsonb[], p_keys text[], p_priorities smallint[],
  p_by text, p_fresh_hours int, p_now timestamptz default null, p_tags jsonb[] default null)
returns table (ordinal bigint, workflow_id uuid, created boolean)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_namespace text; v_name text; v_steps int; v_conditional boolean; v_paused boolean; v_pauser text;
  v_why text; v_new uuid[]; v_taken text[]; v_wanted int;
  v_expires timestamptz := v_now + make_interval(secs => remand.lifetime(p_template));
begin
  -- Template.
  select template.namespace, template.name, shape.steps, shape.conditional
    into strict v_namespace, v_name, v_steps, v_conditional
    from remand.templates template,
         lateral (select count(*) as steps, coalesce(bool_or(step.after is not null), false) as conditional
                    from remand.template_steps step
                   where step.template_id = template.id) shape
   where template.id = p_template;
  -- Whoever pauses or resumes the template waits for us, or we for them: no workflow slips through.
  perform pg_advisory_xact_lock_shared(hashtextextended('remand.pause ' || v_namespace || '/' || v_name, 0));
  select true, pause."by", pause.reason
    into v_paused, v_pauser, v_why
    from remand.template_pauses pause
   where pause.namespace = v_namespace and pause.name = v_name;

  -- Identities.
  v_new := p_ids;
  if array_remove(p_keys, null) <> '{}' then
    select identities.taken, identities.allowed into v_taken, v_new
      from remand.take_identities(v_namespace, v_name, p_ids, p_keys, v_now) identities;
  end if;
  v_wanted := cardinality(v_new);

  -- Archived ids: nothing is archived until a day after its id was made, so what is new costs nothing here.
  if exists (select
               from unnest(v_new) given(id)
              where given.id < remand.uuid7_floor(v_now - make_interval(hours => p_fresh_hours))) then
    perform pg_advisory_xact_lock_shared(hashtext('remand.archive'));
    v_new := array(
      select given.id
        from unnest(v_new) given(id)
       where given.id not in (select old.id from remand.workflows_archive old where old.id = any(v_new)));
  end if;

  -- Create.
  with created as (
    insert into remand.workflows (id, template_id, created_at, input, submitted_by, identity_key, priority,
                                  state, state_since, open_steps, tags, expires_at, conditional)
      select distinct on (given.id)
             given.id, p_template, v_now, given.input, p_by, given.key, given.priority,
             'steps_in_process', v_now, v_steps,
             case when given.tags is not null then array(select jsonb_array_elements_text(given.tags)) end,
             v_expires, v_conditional
        from unnest(p_ids, p_inputs, p_keys, p_priorities, p_tags) given(id, input, key, priority, tags)
       where given.id = any(v_new)
      on conflict (id) do nothing
      returning id, priority
  ),
  copied as (
    insert into remand.steps (workflow_id, name, position, handler, dependency, queue, priority,
                              timeout_seconds, commit_each, input, depends_on, children, after, state,
                              open_parents, attempt, enqueued_at)
      select created.id, step.name, step.position, step.handler, nullif(step.dependency, step.handler),
             step.queue, coalesce(step.priority, created.priority), step.timeout_seconds, step.commit_each,
             step.input, step.depends_on, step.children, step.after,
             case when step.depends_on = '{}' then 'enqueued' else 'pending' end,
             cardinality(step.depends_on), 0, case when step.depends_on = '{}' then v_now end
        from created
       cross join remand.template_steps step
       where step.template_id = p_template
      returning steps.workflow_id, steps.name, steps.queue,
                coalesce(steps.dependency, steps.handler) as dependency, steps.priority, steps.state
  ),
  queued as (
    insert into remand.run_queue (workflow_id, step, phase, queue, namespace, dependency, priority, due_at,
                                  attempt)
      select copied.workflow_id, copied.name, 'ready', copied.queue, v_namespace, copied.dependency,
             copied.priority, v_now, 0
        from copied
       where copied.state = 'enqueued'
  )
  select coalesce(array_agg(created.id), '{}') into v_new from created;
  if v_paused then
    perform remand.pause_workflows(v_new, v_pauser, v_why, true, v_now);
  end if;

  -- A workflow that was there already under another identity does not take this one as well.
  if cardinality(v_new) < v_wanted then
    delete from remand.identities identity
     where identity.namespace = v_namespace and identity.name = v_name and identity.key = any(v_taken)
       and identity.workflow_id <> all(v_new);
  end if;

  return query
  select given.place, coalesce(identity.workflow_id, given.id),
         given.id = any(v_new) and given.place = min(given.place) over (partition by given.id)
    from unnest(p_ids, p_keys) with ordinality given(id, key, place)
    left join remand.identities identity
      on identity.namespace = v_namespace and identity.name = v_name and identity.key = given.key
   order by given.place;
end $$;
