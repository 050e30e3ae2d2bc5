alter table remand.workers drop column region;
alter table remand.steps drop column cost;
alter table remand.steps_archive drop column cost;
