-- The results of the parents that a step names, by name. '"stored"' if they have more than p_inline_bytes
-- together (as stored) and are to be read one by one: a value has at most 256 MB. null: it has none.
-- Parsed when made, not SET: callers inline it.
create or replace function remand.parents_of(p_workflow uuid, p_names text[], p_inline_bytes int)
returns table (results jsonb)
language sql stable begin atomic
  select case when max(parent.bytes) > p_inline_bytes then '"stored"'
              else jsonb_object_agg(parent.name, parent.result)
                     filter (where parent.bytes <= p_inline_bytes) end
    from (select stored.name, stored.result,
                 sum(coalesce(pg_column_size(stored.result), 0)) over () as bytes
            from unnest(p_names) named(name),
                 -- "offset 0": each by its whole key; a join would read all steps of the workflow.
                 lateral (select step.name, step.result
                            from remand.steps step
                           where step.workflow_id = p_workflow
                             and step.name = named.name
                          offset 0) stored) parent;
end;
