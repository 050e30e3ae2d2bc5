alter table remand.workers add column region text;
alter table remand.steps add column cost int;
alter table remand.steps_archive add column cost int;
