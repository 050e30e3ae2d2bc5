-- Expand only: what old code reads and writes stays as it is. Tables and their _archive twins change together.

-- Instants that people gave before every door kept to the years 1970 to 2999: no page could show them.
update remand.dead_letter_groups
   set due_at = least(greatest(due_at, timestamptz '1970-01-01 00:00:00Z'), timestamptz '2999-12-31 23:59:59Z')
 where due_at < timestamptz '1970-01-01 00:00:00Z' or due_at >= timestamptz '3000-01-01 00:00:00Z';
update remand.redrives
   set not_before = least(greatest(not_before, timestamptz '1970-01-01 00:00:00Z'), timestamptz '2999-12-31 23:59:59Z')
 where not_before < timestamptz '1970-01-01 00:00:00Z' or not_before >= timestamptz '3000-01-01 00:00:00Z';

alter table remand.template_steps add column input jsonb;
comment on column remand.template_steps.input is 'replaces the workflow''s input for this step; null: it does not';
