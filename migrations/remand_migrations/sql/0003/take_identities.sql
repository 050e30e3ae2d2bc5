-- Take the identities that new workflows of a template want, as far as nobody has them; each key once.
-- taken: the keys that were free. allowed: the ids, in order, that have no key or hold theirs now.
create or replace function remand.take_identities(
  p_namespace text, p_name text, p_ids uuid[], p_keys text[], p_now timestamptz)
returns table (taken text[], allowed uuid[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  with wanted as (
    select distinct on (given.key) given.key, given.id
      from unnest(p_keys, p_ids) with ordinality given(key, id, place)
     where given.key is not null
     order by given.key, given.place
  ),
  free as (
    insert into remand.identities (namespace, name, key, workflow_id, created_at)
      select p_namespace, p_name, wanted.key, wanted.id, p_now
        from wanted
       order by wanted.key
      on conflict do nothing
      returning key
  )
  select array_agg(free.key) into taken from free;
  allowed := array(
    select given.id
      from unnest(p_keys, p_ids) with ordinality given(key, id, place)
      left join remand.identities identity
        on identity.namespace = p_namespace
       and identity.name = p_name
       and identity.key = given.key
     where given.key is null
        or identity.workflow_id = given.id
     order by given.place);
  return next;
end $$;
