alter table remand.schema_version drop column serves;
drop type remand.claimed_step;
