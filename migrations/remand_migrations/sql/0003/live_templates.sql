-- The templates of workflows that go on by themselves: neither ended nor waiting for a person. Found by steps
-- through an index: the cost is that of the templates, not of their workflows.
create or replace function remand.live_templates() returns setof int
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with recursive live(template_id) as (
    (select workflow.template_id
       from remand.workflows workflow
      where workflow.paused_at is null
        and not remand.is_final(workflow.state)
        and workflow.state <> 'blocked_by_failures'
      order by workflow.template_id
      limit 1)
    union all
    select (select workflow.template_id
              from remand.workflows workflow
             where workflow.paused_at is null
               and not remand.is_final(workflow.state)
               and workflow.state <> 'blocked_by_failures'
               and workflow.template_id > live.template_id
             order by workflow.template_id
             limit 1)
      from live
     where live.template_id is not null)
  select live.template_id
    from live
   where live.template_id is not null
$$;
