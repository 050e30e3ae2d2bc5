-- What code goes on beside this schema: what reads it starts beside a revision that it does not know.
alter table remand.schema_version add column serves text[] not null default '{}';
comment on column remand.schema_version.serves is
  'the oldest code that goes on beside each revision from 0003 on; the last counts';
