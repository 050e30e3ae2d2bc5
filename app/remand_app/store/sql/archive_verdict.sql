-- Why a workflow stays live: 'live', 'kept' by the policy of its outcome, or 'recent'; null: nothing of its
-- own keeps it.
-- p_kept: templates and outcomes that are kept, 'template id:state'. p_cutoff: who ended, or was restored,
-- later stays.
create or replace function remand.archive_verdict(
  p_state text, p_template int, p_since timestamptz, p_restored timestamptz, p_cutoff timestamptz,
    p_kept text[])
returns text
language sql stable parallel safe
  return case when not remand.is_final(p_state) then 'live'
              when p_template::text || ':' || p_state = any(p_kept) then 'kept'
              when greatest(p_since, p_restored) > p_cutoff then 'recent'
         end;
